import type { Rule } from "../rule.ts";
import {
  COUNTED_TEXT,
  ELSEWHERE_TEXT,
  ILL_WRITTEN_TEXT,
  NOT_FOR_GOOD_TEXT,
  SHUT_TO_SOME_TEXT,
} from "./acquitting-wording.ts";
import { REFUSES_RECIPIENT } from "./codes.ts";
import { FULL_TEXT } from "./mailbox-wording.ts";
import { DNSBL_TEXT, POLICY_TEXT } from "./wording.ts";

const OTHER_GROUNDS = [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...POLICY_TEXT];

/**
 * Replies with our address or name, but without the words of `SENDER_RULES`. A reply that names us refuses us. But some
 * servers end each reply with a note of the client: there the code and the words are believed.
 */
export const NAMES_US_RULES: readonly Rule[] = [
  {
    id: "logged.unknown",
    stages: ["rcpt"],
    codes: ["5"],
    enhanced: ["5.1.", "5.2.", "5.3.0"],
    namesUsInNote: true,
    says: ["absent", "invalid"],
    unless: OTHER_GROUNDS,
    class: "mailbox_not_found",
    example: "550 5.1.1 <user@example.com>: User unknown [192.0.2.1]",
    source: "composed",
  },
  {
    id: "logged.full",
    stages: ["rcpt"],
    codes: ["4", "5"],
    enhanced: ["x.2.2"],
    namesUsInNote: true,
    text: FULL_TEXT,
    unless: OTHER_GROUNDS,
    class: "mailbox_full",
    example: "552 5.2.2 <user@example.com>: Mailbox full (client 192.0.2.1)",
    source: "composed",
  },
  {
    id: "logged.disabled",
    stages: ["rcpt"],
    codes: ["5"],
    enhanced: ["5.1.", "5.2."],
    namesUsInNote: true,
    says: ["shut"],
    unless: [...OTHER_GROUNDS, ...SHUT_TO_SOME_TEXT],
    class: "mailbox_disabled",
    example: "550 5.2.1 <user@example.com>: Mailbox disabled (from probe.rcpt.example [192.0.2.1])",
    source: "composed",
  },
  {
    id: "logged.transient",
    stages: ["rcpt"],
    codes: ["4"],
    enhanced: ["4.1.", "4.2."],
    namesUsInNote: true,
    says: ["absent", "invalid", "shut"],
    unless: OTHER_GROUNDS,
    class: "smtp_protocol_error",
    example: "450 4.1.1 <user@example.com>: User unknown [192.0.2.1]",
    source: "composed",
  },
  {
    id: "hailed.unknown",
    stages: ["rcpt"],
    codes: REFUSES_RECIPIENT,
    unlessEnhanced: ["5.1.3", "5.5.2", "5.5.4"],
    namesUsInGreeting: true,
    says: ["absent", "invalid"],
    unless: [...OTHER_GROUNDS, ...COUNTED_TEXT, ...ILL_WRITTEN_TEXT],
    class: "mailbox_not_found",
    example: "550 5.1.1 Hi [192.0.2.1], No such address: <user@example.com>.",
    source: "opened-a",
  },
  {
    id: "hailed.full",
    stages: ["rcpt"],
    codes: ["4", "5"],
    namesUsInGreeting: true,
    text: FULL_TEXT,
    unless: OTHER_GROUNDS,
    class: "mailbox_full",
    example:
      "552-Requested mail action aborted: exceeded storage allocation | 552-Quota exceeded. | 552 For explanation visit http://postmaster.1and1.com/en/error-messages?ip=192.0.2.1&c=quot",
    source: "opened-a",
  },
  {
    id: "hailed.policy",
    codes: ["5"],
    namesUsInGreeting: true,
    text: ["policy restrictions", "recipient preferences"],
    class: "refused_by_policy",
    example:
      "550 5.1.1 RCP-P2 http://postmaster.facebook.com/response_codes?ip=192.0.2.1#rcp Refused due to recipient preferences",
    source: "opened-a",
  },
  {
    // `As a relay … to let you [192.0.2.1] do this`: such a server refuses any client as a relay, whatever its name.
    id: "named.relay",
    stages: ["rcpt"],
    codes: ["5"],
    namesUs: true,
    text: ["configured to relay", "as a relay"],
    unless: DNSBL_TEXT,
    class: "refused_by_policy",
    example:
      "553 you are trying to use me [mx.example.com] as a relay, but I have not been configured to let you [192.0.2.1, probe.rcpt.example] do this.",
    source: "opened-a",
  },
  {
    id: "us.named",
    codes: ["4", "5"],
    namesUs: true,
    class: "sender_blocked",
    example: "554 IP=192.0.2.1 - A problem occurred. (Ask your postmaster for help to clarify.)",
    source: "telekom",
  },
];
