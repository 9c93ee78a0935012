import type { Rule } from "../rule.ts";

/** The bare code, the weakest evidence: nothing here condemns a recipient. */
export const CODE_RULES: readonly Rule[] = [
  {
    id: "code.try_again",
    codes: ["450", "451"],
    enhanced: ["4.7.0", "4.7.1"],
    text: ["try again", "try later", "later"],
    unless: ["server error", "internal", "system", "resource", "local problem", "configuration"],
    class: "greylisted",
    example: "451 4.7.1 Try again later",
    source: "rspamd",
  },
  {
    id: "code.transient",
    codes: ["4"],
    class: "smtp_protocol_error",
    example: "451 Requested action aborted: local error in processing",
    source: "rfc",
  },
  {
    id: "code.not_understood",
    codes: ["500", "501", "502", "503", "504", "555"],
    class: "smtp_protocol_error",
    example: "501 5.1.3 Bad recipient address syntax",
    source: "postfix",
  },
  {
    id: "code.storage",
    codes: ["552"],
    unless: [
      "your quota",
      "your mailbox",
      "your account",
      "message size",
      "too large",
      "too big",
      "sender",
      "sending user",
    ],
    class: "mailbox_full",
    example: "552 Requested mail action aborted",
    source: "rfc",
  },
  {
    id: "code.refused",
    codes: ["5"],
    class: "refused_by_policy",
    example: "550 Requested action not taken",
    source: "rfc",
  },
  {
    id: "code.nonsense",
    class: "smtp_protocol_error",
    example: "354 Go ahead",
    source: "rfc",
  },
];
