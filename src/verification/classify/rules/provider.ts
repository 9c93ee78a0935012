import type { Rule } from "../rule.ts";
import { ANOTHER_SUBJECT_TEXT, ELSEWHERE_TEXT, NOT_FOR_GOOD_TEXT } from "./acquitting-wording.ts";

/** Exchange Online's words for an unknown recipient, after its code for them: they appear in quotes of other servers, too. */
const MICROSOFT_LOOKUP = ["", "*@* ", "*@*: ", "<*@*>: ", "[*@*]: ", "<*@*> ", "[*@*] "].map(
  (named) => `5.4.1 ${named}recipient address rejected: access denied`,
);
/** Signs that Exchange Online said it, and not another server with the same words; gateways cut its name short. */
const MICROSOFT_SIGNS = [".eop-", ".protection.outlook.com", "as(2018", "aka.ms/exosmtperrors"];
/** A gateway quotes the server behind it: `(user@example.com:550 5.4.1 …`, `said: 550 5.4.1 …`. */
const QUOTED_LOOKUP = ["*@*:", "said: ", "returned: ", "returned '", "replied: ", "responded: "].flatMap(
  (frame) => MICROSOFT_LOOKUP.map((said) => `${frame}550 ${said}`),
);

/** A link that names the client or the reason. */
const REASON_CODE = ["ip=", "?c=", "&c="] as const;
/** Microsoft's `access denied` is its word for an unknown recipient only where nothing else is said. */
const OTHER_THAN_LOOKUP = [
  ...ANOTHER_SUBJECT_TEXT.filter((fragment) => !fragment.includes("denied")),
  ...REASON_CODE,
];

/** Wordings that have another meaning at a provider than elsewhere. */
export const PROVIDER_RULES: readonly Rule[] = [
  {
    id: "cox.recipient_rejected",
    providers: ["cox", "charter", "apple", "comcast"],
    stages: ["rcpt"],
    codes: ["550"],
    text: ["recipient rejected"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...REASON_CODE, "polic", "spam", "limit"],
    silent: true,
    class: "mailbox_not_found",
    example: "550 5.1.1 <user@example.com> recipient rejected",
    source: "cox",
  },
  {
    // It asks to try again before every refusal; the text behind that counts.
    id: "laposte.unknown",
    stages: ["rcpt"],
    codes: ["550"],
    text: ["service refuse. veuillez essayer plus tard. utilisateur inconnu"],
    unless: ELSEWHERE_TEXT,
    class: "mailbox_not_found",
    example: "550 5.5.0 Service refuse. Veuillez essayer plus tard. Utilisateur inconnu",
    source: "providers-1",
  },
  {
    // Only Rambler has this code, for a mailbox that it has blocked.
    id: "rambler.blocked",
    stages: ["rcpt"],
    codes: ["540"],
    text: ["recipient address rejected: blocked"],
    unless: [
      ...ELSEWHERE_TEXT.filter((fragment) => fragment !== "blocked"),
      ...NOT_FOR_GOOD_TEXT,
      "blocked by",
      "blocked for",
    ],
    class: "mailbox_disabled",
    example: "540 5.7.1 <user@rambler.ru>: recipient address rejected: Blocked",
    source: "opened-a",
  },
  {
    // The reply has only a link to a page about the reason.
    id: "google.page_of_unknown",
    codes: ["550"],
    enhanced: ["5.1.1"],
    text: ["support.google.com/mail/?p=nosuchuser", "answer.py?answer=6596", "/answer/6596"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT],
    class: "mailbox_not_found",
    example: "550 5.1.1 http://support.google.com/mail/bin/answer.py?answer=6596 ad1si1997204pbd.83 - gsmtp",
    source: "opened-a",
  },
  {
    id: "microsoft365.recipient_lookup",
    providers: ["microsoft365", "outlook"],
    codes: ["550"],
    enhanced: ["5.4.1"],
    text: ["recipient address rejected: access denied"],
    unless: OTHER_THAN_LOOKUP,
    class: "mailbox_not_found",
    example:
      "550 5.4.1 Recipient address rejected: Access denied. [AM5EUR03FT012.eop-EUR03.prod.protection.outlook.com]",
    source: "ms-ndr",
  },
  {
    id: "outlook.mailbox_unavailable",
    providers: ["outlook"],
    codes: ["550"],
    unlessEnhanced: ["5.7."],
    text: ["mailbox unavailable"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...REASON_CODE, "polic"],
    silent: true,
    class: "mailbox_not_found",
    example: "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).",
    source: "ms-postmaster",
  },
  {
    // RFC 5321's stock sentence; with this enhanced code only Microsoft says it, for consumers' mailboxes.
    id: "outlook.mailbox_unavailable_named",
    codes: ["550"],
    enhanced: ["5.5.0"],
    text: ["requested action not taken: mailbox unavailable"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...REASON_CODE, "polic"],
    silent: true,
    class: "mailbox_not_found",
    example: "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).",
    source: "ms-postmaster",
  },
  {
    id: "microsoft.banned",
    providers: ["microsoft365", "outlook"],
    enhanced: ["5.7.5##", "5.7.6##", "5.7.7##", "4.7.5##", "4.7.6##", "4.7.7##"],
    class: "sender_blocked",
    example: "550 5.7.705 Access denied, tenant has exceeded threshold",
    source: "ms-ndr",
  },
  {
    // The server names itself: this is Microsoft's directory, whichever MX record and gateway led there.
    id: "microsoft365.recipient_lookup_named",
    stages: ["rcpt"],
    codes: ["55"],
    text: MICROSOFT_LOOKUP,
    beside: MICROSOFT_SIGNS,
    unless: ["banned", "spam", "all recipient", ...NOT_FOR_GOOD_TEXT],
    class: "mailbox_not_found",
    example:
      "550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB5EUR03FT012.eop-EUR03.prod.protection.outlook.com]",
    source: "ms-ndr",
  },
  {
    id: "microsoft365.recipient_lookup_quoted",
    stages: ["rcpt"],
    codes: ["55"],
    text: QUOTED_LOOKUP,
    unless: ["banned", "spam", "all recipient", ...NOT_FOR_GOOD_TEXT],
    class: "mailbox_not_found",
    example:
      "550 permanent failure for one or more recipients (user@example.com:550 5.4.1 Recipient address rejected: Access denied)",
    source: "composed",
  },
  {
    // This code with this sentence is Exchange Online's directory alone (Postfix says 5.7.1 with it), even when another
    // server passes it on.
    id: "microsoft365.recipient_lookup_bare",
    stages: ["rcpt"],
    codes: ["550"],
    enhanced: ["5.4.1"],
    text: ["recipient address rejected: access denied"],
    unless: OTHER_THAN_LOOKUP,
    silent: true,
    class: "mailbox_not_found",
    example: "550 5.4.1 Recipient address rejected: Access denied",
    source: "ms-ndr",
  },
  {
    // GMX has one sentence for every refusal, followed by the reason.
    id: "gmx.sender",
    providers: ["gmx", "ionos"],
    codes: ["550"],
    text: ["resource record", "sender address", "spf policy"],
    class: "sender_blocked",
    example:
      "550-Requested action not taken: mailbox unavailable | 550 invalid DNS MX or A/AAAA resource record.",
    source: "gmx",
  },
  {
    id: "gmx.mailbox_unavailable",
    providers: ["gmx", "ionos"],
    codes: ["550"],
    text: ["mailbox unavailable"],
    unless: [...ELSEWHERE_TEXT, ...NOT_FOR_GOOD_TEXT, ...REASON_CODE, "polic", " mx", "a/aaaa", "spf"],
    silent: true,
    class: "mailbox_not_found",
    example: "550 Requested action not taken: mailbox unavailable",
    source: "gmx",
  },
];
