import type { Rule } from "../rule.ts";
import {
  ANOTHER_SUBJECT_TEXT,
  COUNTED_TEXT,
  ELSEWHERE_TEXT,
  ILL_WRITTEN_TEXT,
  NOT_FOR_GOOD_TEXT,
  SHUT_TO_SOME_TEXT,
} from "./acquitting-wording.ts";
import { REFUSES_RECIPIENT } from "./codes.ts";
import { FULL_TEXT } from "./mailbox-wording.ts";
import { POLICY_TEXT } from "./wording.ts";

/** What makes a full mailbox somebody else's, or no mailbox at all. */
const NOT_THEIR_MAILBOX = [
  "sending quota",
  "sender's",
  "sender quota",
  "sender is",
  "sender account",
  "sender mailbox",
  "for sender",
  "your account",
  "your mailbox",
  "your quota",
  "system storage",
  "system is full",
  "queue is full",
  "too many recipients",
  "rate limit",
] as const;

/** The words themselves, where no enhanced code or one of another subject came with them. */
export const TEXT_RULES: readonly Rule[] = [
  {
    id: "text.full",
    codes: ["4", "5"],
    text: FULL_TEXT,
    unless: NOT_THEIR_MAILBOX,
    class: "mailbox_full",
    example: "552 Mailbox is full / Blocks limit exceeded / Inode limit exceeded",
    source: "kumo-community",
  },
  {
    id: "text.full_said",
    stages: ["rcpt"],
    codes: ["4", "5"],
    says: ["full"],
    unless: NOT_THEIR_MAILBOX,
    class: "mailbox_full",
    example:
      "550 Benutzer hat das Speichervolumen ueberschritten. / User has exhausted allowed storage space.",
    source: "sitepackage",
  },
  {
    id: "text.disabled",
    stages: ["rcpt"],
    codes: REFUSES_RECIPIENT,
    says: ["shut"],
    // `disabled or does not exist`: whichever, nobody is there.
    unlessSays: ["absent"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...SHUT_TO_SOME_TEXT],
    class: "mailbox_disabled",
    example: "550 User account not activated",
    source: "kumo-community",
  },
  {
    // `Blocked` alone is mostly about us; a mailbox that is blocked is shut.
    id: "text.blocked",
    stages: ["rcpt"],
    codes: REFUSES_RECIPIENT,
    text: [
      "mailbox is blocked",
      "mailbox blocked",
      "mailbox has been blocked",
      "account is blocked",
      "account blocked",
      "account has been blocked",
      "account was blocked",
    ],
    unless: [
      ...ELSEWHERE_TEXT.filter((fragment) => fragment !== "blocked"),
      ...NOT_FOR_GOOD_TEXT,
      ...SHUT_TO_SOME_TEXT,
      ...COUNTED_TEXT,
      "polic",
      " by ",
      " from ",
      "spam",
    ],
    class: "mailbox_disabled",
    example: "550 5.2.1 This mailbox has been blocked due to inactivity",
    source: "composed",
  },
  {
    id: "text.unknown",
    stages: ["rcpt"],
    codes: REFUSES_RECIPIENT,
    says: ["absent"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...COUNTED_TEXT],
    class: "mailbox_not_found",
    example: "550 RC:LD The email account that you tried to reach does no exists.",
    source: "china-vendors",
  },
  {
    id: "text.invalid",
    stages: ["rcpt"],
    codes: ["51", "52", "54", "55", "56", "57", "58"],
    unlessEnhanced: ["5.1.3", "5.1.7", "5.5.1", "5.5.2", "5.5.4"],
    says: ["invalid"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...ILL_WRITTEN_TEXT, ...COUNTED_TEXT],
    class: "mailbox_not_found",
    example: "550 <user@example.com> Address invalid",
    source: "kumo-community",
  },
  {
    id: "text.unavailable",
    stages: ["rcpt"],
    codes: ["550", "551", "553", "554"],
    says: ["unavailable"],
    // RFC 5321's own sentence is what servers say who say nothing.
    unless: [...ANOTHER_SUBJECT_TEXT, "requested action", "requested mail action"],
    class: "mailbox_not_found",
    example: "550 #2175041 unavailable mail user",
    source: "china-vendors",
  },
  {
    id: "opensmtpd.expansion",
    codes: ["524"],
    text: ["mailing list expansion problem"],
    class: "mailbox_not_found",
    example: "524 5.2.4 Mailing list expansion problem: <user@example.com>",
    source: "opensmtpd",
  },
  {
    // A permanent code for what passes: they are not well, or ask to come again.
    id: "text.passing",
    stages: ["rcpt"],
    codes: ["5"],
    text: [
      "try again later",
      "try later",
      "internal system error",
      "internal error",
      "mailer error",
      "protocol error",
      "temporary failure",
      "temporarily unavailable",
    ],
    unless: [
      ...POLICY_TEXT.filter((fragment) => fragment !== "does not accept"),
      "denied",
      "blocked",
      "content",
    ],
    class: "smtp_protocol_error",
    example: "550 5.3.5 <user@example.com>... Internal System Error",
    source: "opened-a",
  },
  {
    id: "text.policy",
    codes: ["5"],
    text: POLICY_TEXT,
    class: "refused_by_policy",
    example: "554 5.7.1 <user@example.com>: Relay access denied",
    source: "postfix",
  },
];
