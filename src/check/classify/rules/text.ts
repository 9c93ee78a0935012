import type { Rule } from "../rule.ts";
import { ELSEWHERE_TEXT, NOT_FOR_GOOD_TEXT, SHUT_TO_SOME_TEXT } from "./acquitting-wording.ts";
import { DISABLED_TEXT, FULL_TEXT, UNKNOWN_TEXT } from "./mailbox-wording.ts";
import { POLICY_TEXT } from "./wording.ts";

/** The words themselves, where no enhanced code or one of another subject came with them. */
export const TEXT_RULES: readonly Rule[] = [
  {
    id: "text.full",
    codes: ["4", "5"],
    text: FULL_TEXT,
    unless: ["sending quota", "sender", "your account", "system storage"],
    class: "mailbox_full",
    example: "552 Mailbox is full / Blocks limit exceeded / Inode limit exceeded",
  },
  {
    id: "text.disabled",
    codes: ["5"],
    text: DISABLED_TEXT,
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...SHUT_TO_SOME_TEXT],
    class: "mailbox_disabled",
    example:
      "554 delivery error: dd Sorry, your message cannot be delivered. This mailbox is disabled (554.30).",
  },
  {
    id: "text.unknown",
    codes: ["5"],
    text: UNKNOWN_TEXT,
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT],
    class: "mailbox_not_found",
    example: "550 Unrouteable address",
  },
  {
    id: "opensmtpd.expansion",
    codes: ["524"],
    text: ["mailing list expansion problem"],
    class: "mailbox_not_found",
    example: "524 5.2.4 Mailing list expansion problem: <user@example.com>",
  },
  {
    id: "text.policy",
    codes: ["5"],
    text: POLICY_TEXT,
    class: "refused_by_policy",
    example: "554 5.7.1 <user@example.com>: Relay access denied",
  },
];
