import type { Rule } from "../rule.ts";

/**
 * Codes and words whose meaning the server's documentation defines, whatever else the reply contains or quotes of us. None
 * of these is about a missing mailbox.
 */
export const PROVIDER_CODE_RULES: readonly Rule[] = [
  {
    // A limit on the senders that may write to a group, a mailbox or a folder: the recipient is there.
    id: "microsoft365.restricted",
    codes: ["550"],
    enhanced: ["5.7.12", "5.7.124", "5.7.133", "5.7.134", "5.7.135", "5.7.136"],
    class: "refused_by_policy",
    example: "550 5.7.124 RESOLVER.RST.NotAuthorized; sender not in allowed-senders list",
    source: "ms-ndr",
  },
  {
    // Mimecast's own word for greylisting, or for a poor reputation: a retry solves both.
    id: "mimecast.greylist",
    providers: ["mimecast"],
    codes: ["451"],
    text: ["internal resource temporarily unavailable", "internal resources are temporarily unavailable"],
    class: "greylisted",
    example:
      "451 Internal resource temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451",
    source: "mimecast",
  },
  {
    // A mailbox that gets too much at once, by QQ's own page.
    id: "qq.mailbox_busy",
    providers: ["qq"],
    codes: ["550"],
    text: ["mailbox unavailable or access denied"],
    class: "rate_limited_by_server",
    example: "550 Mailbox unavailable or access denied",
    source: "china-vendors",
  },
  {
    id: "netease.rate",
    providers: ["netease"],
    codes: ["4", "5"],
    text: ["hl:icc", "hl:ifc", "rp:drc", "rp:qrc", "mi:dmc", "mi:sfq", "mi:ccl", "rp:ccl"],
    class: "rate_limited_by_server",
    example: "421 HL:ICC 163 mx1,http://mail.163.com/help/help_spam_16.htm?ip=192.0.2.1",
    source: "netease",
  },
  {
    id: "netease.blocked",
    providers: ["netease"],
    codes: ["4", "5"],
    text: ["hl:rep", "hl:reb", "hl:mep", "dt:rbl", "wm:bli", "wm:blu"],
    class: "sender_blocked",
    example: "421 HL:REP 163 mx1,http://mail.163.com/help/help_spam_16.htm?ip=192.0.2.1",
    source: "netease",
  },
  {
    // Yahoo's own code for greylisting; `temporarily deferred` alone is a rate.
    id: "yahoo.greylist",
    codes: ["421", "451"],
    text: ["[gl01]"],
    class: "greylisted",
    example: "421 [GL01] Message from (192.0.2.1) temporarily deferred",
    source: "vendor-docs",
  },
  {
    // Japanese carriers have one sentence for strangers that the customer's filter refuses, and for recipients that do not
    // exist.
    id: "carrier.unknown_or_filtered",
    providers: ["docomo", "au"],
    stages: ["rcpt"],
    codes: ["5"],
    text: ["unknown user", "user unknown"],
    // au's own server names the address; its filters leave the place empty: `550 : User unknown`.
    unless: ["*@*>: user unknown"],
    class: "refused_by_policy",
    example: "550 Unknown user user@docomo.ne.jp",
    source: "opened-a",
  },
  {
    // Commands out of order: they name the sender that was not given.
    id: "rcpt.out_of_order",
    stages: ["rcpt"],
    codes: ["503"],
    text: ["not yet given", "need mail", "mail first", "bad sequence", "out of sequence"],
    class: "smtp_protocol_error",
    example: "503 sender not yet given",
    source: "exim",
  },
  {
    // Exim asks the next server for the recipient, in the words in which it asks for a sender.
    id: "rcpt.callout_unfinished",
    stages: ["rcpt"],
    codes: ["4"],
    text: ["recipient verify callout", "recipient callout"],
    class: "smtp_protocol_error",
    example: "451 Could not complete recipient verify callout",
    source: "exim",
  },
];
