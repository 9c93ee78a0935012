import type { Rule } from "../rule.ts";
import { ANOTHER_SUBJECT_TEXT, ELSEWHERE_TEXT, NOT_FOR_GOOD_TEXT } from "./acquitting-wording.ts";
import { DISABLED_TEXT, FULL_TEXT, UNKNOWN_TEXT } from "./mailbox-wording.ts";
import { POLICY_TEXT } from "./wording.ts";

/** RFC 3463 and the IANA registry it founded, at RCPT, with the words that show where a code is misused. */
export const ENHANCED_RULES: readonly Rule[] = [
  {
    id: "rcpt.accepted",
    codes: ["2"],
    class: "accepted",
    example: "250 2.1.5 OK",
  },
  {
    id: "enhanced.full",
    codes: ["4", "5"],
    enhanced: ["x.2.2"],
    class: "mailbox_full",
    example: "452 4.2.2 The recipient's inbox is out of storage space.",
  },
  {
    id: "enhanced.recipient_limit",
    enhanced: ["x.5.3"],
    class: "rate_limited_by_server",
    example: "452 4.5.3 Recipients belong to multiple regions ATTR38",
  },
  {
    id: "enhanced.system_full",
    codes: ["4", "5"],
    enhanced: ["4.3.1"],
    class: "smtp_protocol_error",
    example: "452 4.3.1 Insufficient system storage",
  },
  {
    id: "enhanced.null_mx",
    codes: ["5"],
    enhanced: ["5.1.10"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT],
    class: "mailbox_not_found",
    example: "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
  },
  {
    id: "enhanced.unknown_said_so",
    codes: ["5"],
    enhanced: ["5.1.1", "5.1.0", "5.1.6"],
    text: UNKNOWN_TEXT,
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT],
    class: "mailbox_not_found",
    example:
      "550 5.1.1 <user@example.com>: Recipient address rejected: User unknown in virtual mailbox table",
  },
  {
    id: "enhanced.full_said_so",
    codes: ["5"],
    enhanced: ["5.1.", "5.2."],
    text: FULL_TEXT,
    unless: ["sending quota", "sender", "your account", "system storage"],
    class: "mailbox_full",
    example: "550 5.1.1 user is over quota",
  },
  {
    id: "enhanced.disabled_said_so",
    codes: ["5"],
    enhanced: ["5.1.", "5.2."],
    text: DISABLED_TEXT,
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, "sending"],
    class: "mailbox_disabled",
    example: "550 5.1.1 Account is disabled",
  },
  {
    id: "enhanced.policy_said_so",
    codes: ["5"],
    enhanced: ["5.1.", "5.2."],
    text: POLICY_TEXT,
    class: "refused_by_policy",
    example: "550 5.1.1 <user@example.com>: relaying denied",
  },
  {
    id: "enhanced.unknown",
    codes: ["5"],
    enhanced: ["5.1.1", "5.1.6"],
    unless: ANOTHER_SUBJECT_TEXT,
    class: "mailbox_not_found",
    example: "550 5.1.1 <user@example.com>",
  },
  {
    id: "enhanced.address_rejected",
    codes: ["5"],
    enhanced: ["5.1.0"],
    text: ["address rejected"],
    unless: ANOTHER_SUBJECT_TEXT,
    class: "mailbox_not_found",
    example: "550 #5.1.0 Address rejected.",
  },
  {
    id: "enhanced.disabled",
    codes: ["5"],
    enhanced: ["5.2.1"],
    unless: ANOTHER_SUBJECT_TEXT,
    class: "mailbox_disabled",
    example: "550 5.2.1 <user@example.com>",
  },
];
