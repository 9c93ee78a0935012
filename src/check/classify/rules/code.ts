import type { Rule } from "../rule.ts";

/** The bare code, the weakest evidence: nothing here condemns a recipient. */
export const CODE_RULES: readonly Rule[] = [
  {
    id: "code.try_again",
    codes: ["450", "451"],
    enhanced: ["4.7.0", "4.7.1"],
    text: ["try again", "try later", "later"],
    class: "greylisted",
    example: "451 4.7.1 Please try again later",
  },
  {
    id: "code.transient",
    codes: ["4"],
    class: "smtp_protocol_error",
    example: "451 Requested action aborted: local error in processing",
  },
  {
    id: "code.not_understood",
    codes: ["500", "501", "502", "503", "504", "555"],
    class: "smtp_protocol_error",
    example: "503 5.5.1 Bad sequence of commands",
  },
  {
    id: "code.storage",
    codes: ["552"],
    class: "mailbox_full",
    example: "552 Requested mail action aborted",
  },
  {
    id: "code.refused",
    codes: ["5"],
    class: "refused_by_policy",
    example: "550 Requested action not taken",
  },
  {
    id: "code.nonsense",
    class: "smtp_protocol_error",
    example: "354 Go ahead",
  },
];
