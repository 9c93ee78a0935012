import type { Rule } from "../rule.ts";
import { NOT_FOR_GOOD_TEXT } from "./acquitting-wording.ts";

/** Where a provider's wording means something else than the words do elsewhere. */
export const PROVIDER_RULES: readonly Rule[] = [
  {
    id: "microsoft365.recipient_lookup",
    providers: ["microsoft365", "outlook"],
    codes: ["550"],
    enhanced: ["5.4.1"],
    text: ["recipient address rejected: access denied"],
    class: "mailbox_not_found",
    example:
      "550 5.4.1 Recipient address rejected: Access denied. [AM5EUR03FT012.eop-EUR03.prod.protection.outlook.com]",
  },
  {
    id: "outlook.mailbox_unavailable",
    providers: ["outlook"],
    codes: ["550"],
    enhanced: ["5.5.0"],
    text: ["mailbox unavailable"],
    unless: [...NOT_FOR_GOOD_TEXT, "polic"],
    class: "mailbox_not_found",
    example: "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).",
  },
  {
    id: "microsoft.banned",
    providers: ["microsoft365", "outlook"],
    enhanced: ["5.7.5##", "5.7.6##", "5.7.7##", "4.7.5##", "4.7.6##", "4.7.7##"],
    class: "sender_blocked",
    example: "550 5.7.705 Access denied, tenant has exceeded threshold",
  },
  {
    id: "gmx.mailbox_unavailable",
    providers: ["gmx", "ionos"],
    codes: ["550"],
    text: ["mailbox unavailable"],
    unless: [...NOT_FOR_GOOD_TEXT, "polic"],
    class: "mailbox_not_found",
    example: "550 Requested action not taken: mailbox unavailable",
  },
];
