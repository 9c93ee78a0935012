import type { Rule } from "../rule.ts";
import { ELSEWHERE_TEXT, NOT_FOR_GOOD_TEXT, SHUT_TO_SOME_TEXT } from "./acquitting-wording.ts";
import { FULL_TEXT } from "./mailbox-wording.ts";
import { POLICY_TEXT } from "./wording.ts";

const OTHER_GROUNDS = [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...POLICY_TEXT];

/**
 * Our address or name in the reply, without a word of the kind that `SENDER_RULES` know. Whoever names us, refuses us;
 * but some servers close each reply with a note of who asked, and there the code and the words are to be believed.
 */
export const NAMES_US_RULES: readonly Rule[] = [
  {
    id: "logged.unknown",
    stages: ["rcpt"],
    codes: ["5"],
    enhanced: ["5.1.", "5.2.", "5.3.0"],
    logsUs: true,
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
    logsUs: true,
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
    logsUs: true,
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
    logsUs: true,
    says: ["absent", "invalid", "shut"],
    unless: OTHER_GROUNDS,
    class: "smtp_protocol_error",
    example: "450 4.1.1 <user@example.com>: User unknown [192.0.2.1]",
    source: "composed",
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
