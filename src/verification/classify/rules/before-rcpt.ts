import type { Rule } from "../rule.ts";
import { POLICY_TEXT } from "./wording.ts";

/** Replies before RCPT. The recipient was not yet named, so none of these is about it. */
export const BEFORE_RCPT_RULES: readonly Rule[] = [
  {
    id: "greeting.no_mail_here",
    stages: ["greeting", "ehlo"],
    codes: ["521", "556"],
    class: "no_connect",
    example: "521 mail.example.com does not accept mail (RFC 7504)",
    source: "rfc",
  },
  {
    id: "greeting.no_service",
    stages: ["greeting", "ehlo"],
    codes: ["5"],
    text: [
      "no smtp service",
      "does not accept mail",
      "not accept mail",
      "not accepting messages",
      "not accepting mail",
      "service not available",
      "service unavailable",
    ],
    class: "no_connect",
    example: "554 No SMTP service here",
    source: "opened-a",
  },
  {
    id: "greeting.refused",
    stages: ["greeting"],
    codes: ["5"],
    class: "sender_blocked",
    example: "550 rejected because of not in approved list",
    source: "opened-b",
  },
  {
    id: "early.not_understood",
    stages: ["ehlo", "starttls", "mail"],
    codes: ["500", "501", "502", "503", "504"],
    class: "smtp_protocol_error",
    example: "503 5.5.1 Error: send HELO/EHLO first",
    source: "postfix",
  },
  {
    id: "ehlo.refused",
    stages: ["ehlo"],
    codes: ["5"],
    class: "sender_blocked",
    example: "555 helohost error.",
    source: "opened-a",
  },
  {
    id: "mail.policy",
    stages: ["mail"],
    codes: ["530", "535", "538", "523", "552", "555"],
    class: "refused_by_policy",
    example: "530 5.7.0 Must issue a STARTTLS command first",
    source: "rfc",
  },
  {
    id: "mail.policy_text",
    stages: ["mail"],
    codes: ["5"],
    // No recipient was named yet: the client is prohibited.
    text: POLICY_TEXT.filter((fragment) => !fragment.startsWith("administrati")),
    class: "refused_by_policy",
    example: "550 5.7.1 Client was not authenticated",
    source: "exchange",
  },
  {
    id: "mail.refused",
    stages: ["mail"],
    codes: ["5"],
    class: "sender_blocked",
    example: "554 sorry, refused mailfrom because return MX does not exist",
    source: "opened-a",
  },
  {
    id: "early.transient",
    stages: ["greeting", "ehlo", "starttls", "mail"],
    class: "smtp_protocol_error",
    example: "421 mail.example.com Service not available, closing transmission channel",
    source: "rfc",
  },
];
