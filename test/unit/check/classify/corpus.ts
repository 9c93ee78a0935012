import type { ReplyStage } from "../../../../src/check/classify/subject.ts";
import type { SmtpClass } from "../../../../src/check/evidence.ts";

/**
 * Replies as servers give them, labelled with what they mean. Wordings are facts: from the RFCs, from the sources and
 * default settings of free mail servers, from providers' postmaster pages, and from sessions with Postfix, Exim and
 * OpenSMTPD. Names and addresses are replaced by those of RFC 2606 and RFC 5737; ours are 192.0.2.1, 2001:db8::1
 * and probe.rcpt.example. `|` separates the lines of a reply.
 */
type Entry = readonly [label: SmtpClass, provider: string | null, reply: string];

const RCPT: readonly Entry[] = [
  // Accepted
  ["accepted", null, "250 2.1.5 Ok"],
  ["accepted", null, "250 Accepted"],
  ["accepted", null, "250 OK"],
  ["accepted", "google", "250 2.1.5 OK 4fb4d7f45d1cf-5a1 - gsmtp"],
  ["accepted", "microsoft365", "250 2.1.5 Recipient OK"],
  ["accepted", null, "250 2.1.5 <user@example.com>... Recipient ok"],
  ["accepted", null, "250 2.1.5 Destination address valid: Recipient ok"],
  ["accepted", null, "251 User not local; will forward to <user@example.net>"],

  // The mailbox does not exist
  [
    "mailbox_not_found",
    null,
    "550 5.1.1 <user@example.com>: Recipient address rejected: User unknown in virtual mailbox table",
  ],
  [
    "mailbox_not_found",
    null,
    "550 5.1.1 <user@example.com>: Recipient address rejected: User unknown in local recipient table",
  ],
  [
    "mailbox_not_found",
    null,
    "550 5.1.1 <user@example.com>: Recipient address rejected: User unknown in relay recipient table",
  ],
  ["mailbox_not_found", null, "550 5.1.1 <user@example.com>: Recipient address rejected: example.com"],
  [
    "mailbox_not_found",
    null,
    '550 5.1.1 <user@example.com>: Recipient address rejected: undeliverable address: unknown user: "user"',
  ],
  ["mailbox_not_found", null, "550 Unrouteable address"],
  ["mailbox_not_found", null, "550 Unknown user"],
  ["mailbox_not_found", null, "550 No Such User Here"],
  ["mailbox_not_found", null, "550-No Such User Here|550 see example.com"],
  ["mailbox_not_found", null, "550 5.1.1 <user@example.com>... User unknown"],
  ["mailbox_not_found", null, "550 5.1.1 <user@example.com> User doesn't exist: user@example.com"],
  ["mailbox_not_found", null, "524 5.2.4 Mailing list expansion problem: <user@example.com>"],
  ["mailbox_not_found", null, "550 Invalid recipient: <user@example.com>"],
  ["mailbox_not_found", null, "550 sorry, no mailbox here by that name (#5.1.1 - chkuser)"],
  ["mailbox_not_found", null, "511 sorry, no mailbox here by that name (#5.1.1 - chkuser)"],
  [
    "mailbox_not_found",
    null,
    "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
  ],
  ["mailbox_not_found", null, "550 5.1.1 User unknown"],
  ["mailbox_not_found", null, "550 #5.1.0 Address rejected."],
  ["mailbox_not_found", "cisco", "550 #5.1.0 Address rejected."],
  ["mailbox_not_found", null, "550 Mailbox not found"],
  ["mailbox_not_found", null, "550 No such mailbox"],
  ["mailbox_not_found", null, "553 5.3.0 <user@example.com>... No such user here"],
  ["mailbox_not_found", null, "550 5.7.1 No such user!"],
  [
    "mailbox_not_found",
    null,
    "554 5.7.1 <user@example.com>: Recipient address rejected: user user@example.com does not exist",
  ],
  ["mailbox_not_found", null, "550 Address unknown"],
  ["mailbox_not_found", null, "550 <user@example.com>: User not found"],
  ["mailbox_not_found", null, "550 <user@example.com> no such address here"],
  ["mailbox_not_found", null, "551 User not local; please try <user@example.net>: no such user"],
  ["mailbox_not_found", null, "550 5.1.6 <user@example.com>: Recipient has moved to user@example.net"],
  [
    "mailbox_not_found",
    "google",
    "550-5.1.1 The email account that you tried to reach does not exist. Please try|550-5.1.1 double-checking the recipient's email address for typos or|550-5.1.1 unnecessary spaces. For more information, go to|550 5.1.1  https://support.google.com/mail/?p=NoSuchUser 4fb4d7f45d1cf-5a1 - gsmtp",
  ],
  [
    "mailbox_not_found",
    "microsoft365",
    "550 5.4.1 Recipient address rejected: Access denied. [AM5EUR03FT012.eop-EUR03.prod.protection.outlook.com 2026-01-01T00:00:00.000Z 08DC000000000000]",
  ],
  [
    "mailbox_not_found",
    "outlook",
    "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).",
  ],
  [
    "mailbox_not_found",
    "yahoo",
    "554 delivery error: dd This user doesn't have a yahoo.com account (user@example.com) [0] - mta1.example.com",
  ],
  ["mailbox_not_found", "yahoo", "552 1 Requested mail action aborted, mailbox not found"],
  ["mailbox_not_found", "apple", "550 5.1.1 <user@example.com>: user does not exist"],
  [
    "mailbox_not_found",
    "proton",
    "550 5.1.1 <user@example.com>: Recipient address rejected: Address does not exist",
  ],
  ["mailbox_not_found", "zoho", "550 5.1.1 User does not exist - <user@example.com>"],
  ["mailbox_not_found", "fastmail", "550 5.1.1 <user@example.com>: Recipient address rejected: User unknown"],
  [
    "mailbox_not_found",
    "mimecast",
    "550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 [abc.uk1]",
  ],
  ["mailbox_not_found", "proofpoint", "550 5.1.1 User Unknown"],
  [
    "mailbox_not_found",
    "godaddy",
    "550 5.1.1 <user@example.com> Recipient not found.  <http://x.example/irbounce>",
  ],
  [
    "mailbox_not_found",
    "gmx",
    "550 Requested action not taken: mailbox unavailable|550 For explanation visit https://postmaster.gmx.net/en/error-messages?ip=...",
  ],
  ["mailbox_not_found", "ionos", "550 Requested action not taken: mailbox unavailable"],
  [
    "mailbox_not_found",
    "mailru",
    "550 Message was not accepted -- invalid mailbox.  Local mailbox user@example.com is unavailable: user not found",
  ],
  ["mailbox_not_found", "yandex", "550 5.7.1 No such user!"],
  [
    "mailbox_not_found",
    "qq",
    "550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000728",
  ],
  ["mailbox_not_found", "netease", "550 User not found: user@example.com"],
  ["mailbox_not_found", "comcast", "550 5.1.1 Not our Customer"],
  [
    "mailbox_not_found",
    "orange",
    "550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]",
  ],
  [
    "mailbox_not_found",
    "laposte",
    "550 5.5.0 Service refuse. Veuillez essayer plus tard. Utilisateur inconnu",
  ],
  [
    "mailbox_not_found",
    "rackspace",
    "550 5.1.1 <user@example.com>: Recipient address rejected: User unknown",
  ],
  ["mailbox_not_found", "seznam", "550 5.1.1 Sorry, no mailbox here by that name"],
  ["mailbox_not_found", "wp", "550 Nie ma takiego uzytkownika - no such user"],
  ["mailbox_not_found", null, "550 Benutzer unbekannt"],
  ["mailbox_not_found", null, "550 5.1.1 Usuario desconocido"],
  ["mailbox_not_found", null, "550 Utente sconosciuto"],
  ["mailbox_not_found", null, "550 5.0.0 <user@example.com>... User unknown"],
  ["mailbox_not_found", null, "550 5.1.1 sorry, bad recipient"],
  ["mailbox_not_found", null, "550 5.1.1 RESOLVER.ADR.RecipNotFound; not found"],

  ["mailbox_not_found", null, "553 sorry, this recipient is not in my validrcptto list (#5.7.1)"],
  ["mailbox_not_found", null, "550 Domain example.com has no mailbox user"],
  [
    "mailbox_not_found",
    null,
    "550 5.1.1 RCP-P1 http://postmaster.example.com/response_codes?ip=x#rcp Invalid recipient",
  ],
  ["mailbox_not_found", null, "550 The account <user@example.com> does not exist here"],
  ["mailbox_not_found", "daum", "550 5.1.1 <user@example.com>... User Unknown"],

  // The mailbox is there and takes nothing
  [
    "mailbox_disabled",
    "google",
    "550-5.2.1 The email account that you tried to reach is disabled. Learn more at|550 5.2.1  https://support.google.com/mail/?p=DisabledUser - gsmtp",
  ],
  ["mailbox_disabled", null, "550 5.2.1 <user@example.com>: Recipient address rejected: Mailbox disabled"],
  [
    "mailbox_disabled",
    "yahoo",
    "554 delivery error: dd Sorry, your message to user@example.com cannot be delivered. This mailbox is disabled (554.30).",
  ],
  ["mailbox_disabled", null, "550 Account suspended"],
  ["mailbox_disabled", null, "550 5.1.1 Account has been disabled"],
  ["mailbox_disabled", "mailru", "550 user is not active: inactive user"],
  [
    "mailbox_disabled",
    null,
    "554 5.7.1 <user@example.com>: Recipient address rejected: account is locked: mailbox locked",
  ],
  ["mailbox_disabled", null, "550 5.2.1 Mailbox temporarily disabled"],

  // Full
  [
    "mailbox_full",
    "google",
    "452-4.2.2 The recipient's inbox is out of storage space. Please direct the|452-4.2.2 recipient to|452 4.2.2  https://support.google.com/mail/?p=OverQuotaTemp - gsmtp",
  ],
  [
    "mailbox_full",
    "google",
    "552-5.2.2 The recipient's inbox is out of storage space and inactive. Please direct|552 5.2.2 the recipient to https://support.google.com/mail/?p=OverQuotaPerm - gsmtp",
  ],
  ["mailbox_full", null, "452 4.2.2 <user@example.com>: Recipient address rejected: Mailbox full"],
  [
    "mailbox_full",
    null,
    "552 5.2.2 <user@example.com>: Recipient address rejected: Quota exceeded (mailbox for user is full)",
  ],
  ["mailbox_full", null, "552 Mailbox is full / Blocks limit exceeded / Inode limit exceeded"],
  ["mailbox_full", null, "450 4.2.2 user@example.com: user is overquota"],
  ["mailbox_full", "apple", "552 5.2.2 <user@example.com>: user is over quota"],
  ["mailbox_full", null, "550 Mailbox quota exceeded"],
  ["mailbox_full", null, "552 Requested mail action aborted: exceeded storage allocation"],
  ["mailbox_full", null, "550 5.1.1 <user@example.com> mailbox is full"],
  ["mailbox_full", "orange", "552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR417_417 [417]"],

  // Greylisting
  [
    "greylisted",
    null,
    "450 4.2.0 <user@example.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/example.com.html",
  ],
  ["greylisted", null, "451 4.7.1 Greylisting in action, please come back later"],
  [
    "greylisted",
    null,
    "450 4.7.1 Client host rejected: Greylisting in effect, please try again later [192.0.2.1]",
  ],
  [
    "greylisted",
    null,
    "451 4.7.1 <user@example.com>: Recipient address rejected: Please try again in 300 seconds",
  ],
  ["greylisted", null, "450 You have been greylisted, please retry in 5 minutes"],
  ["greylisted", null, "451 graylisted, try again"],
  ["greylisted", null, "451 4.7.1 Please try again later"],
  ["greylisted", null, "450 4.7.0 Temporarily rejected. Try again later."],

  // Too many
  [
    "rate_limited_by_server",
    "outlook",
    "452 4.5.3 Recipients belong to multiple regions ATTR38 [DB8EUR05FT012.eop-eur05.prod.protection.outlook.com]",
  ],
  ["rate_limited_by_server", null, "452 4.5.3 Error: too many recipients"],
  [
    "rate_limited_by_server",
    "google",
    "450-4.2.1 The user you are trying to contact is receiving mail at a rate that|450-4.2.1 prevents additional messages from being delivered.|450 4.2.1  https://support.google.com/mail/?p=ReceivingRate - gsmtp",
  ],
  [
    "rate_limited_by_server",
    "google",
    "550-5.2.1 The user you are trying to contact is receiving mail at a rate that|550 5.2.1 prevents additional messages from being delivered.",
  ],
  ["rate_limited_by_server", null, "421 4.7.0 mx.example.com Error: too many errors"],
  [
    "rate_limited_by_server",
    "microsoft365",
    "451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (S77719)",
  ],
  ["rate_limited_by_server", "orange", "421 Too many connections, slow down. OFR004_104 [104]"],
  [
    "rate_limited_by_server",
    "yahoo",
    "421 4.7.0 [TSS04] Messages temporarily deferred due to unexpected volume",
  ],
  ["rate_limited_by_server", "qq", "550 Connection frequency limited"],
  ["rate_limited_by_server", null, "450 4.7.1 Error: too much mail from 192.0.2.1: rate limit exceeded"],
  ["rate_limited_by_server", "comcast", "421 4.1.0 192.0.2.1 Throttled - try again later"],
  ["rate_limited_by_server", null, "452 Too many recipients received this hour"],

  ["rate_limited_by_server", null, "550 5.7.1 Too many invalid recipients"],
  ["rate_limited_by_server", null, "554 Too many unknown users, goodbye"],
  [
    "rate_limited_by_server",
    "google",
    "450 4.2.1 The user you are trying to contact is receiving mail too quickly.",
  ],

  // We are refused
  [
    "sender_blocked",
    null,
    "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.1",
  ],
  [
    "sender_blocked",
    null,
    "550 5.7.1 Service unavailable, Client host [198.51.100.7] blocked using Spamhaus. To request removal from this list see https://www.spamhaus.org/lookup.lasso",
  ],
  [
    "sender_blocked",
    "outlook",
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140).",
  ],
  [
    "sender_blocked",
    "microsoft365",
    "550 5.7.606 Access denied, banned sending IP [192.0.2.1]. To request removal from this list please visit https://sender.office.com/",
  ],
  ["sender_blocked", "microsoft365", "550 5.7.511 Access denied, banned sender"],
  [
    "sender_blocked",
    "microsoft365",
    "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP.",
  ],
  [
    "sender_blocked",
    "google",
    "550-5.7.1 [192.0.2.1] Our system has detected that this message is likely|550-5.7.1 unsolicited mail. To reduce the amount of spam sent to Gmail, this message has|550 5.7.1 been blocked.",
  ],
  [
    "sender_blocked",
    "google",
    "550-5.7.25 [2001:db8::1] The IP address sending this message does not have a|550 5.7.25 PTR record setup, or the corresponding forward DNS entry does not match",
  ],
  [
    "sender_blocked",
    "google",
    "550-5.7.26 This mail is unauthenticated, which poses a security risk|550 5.7.26 to the sender and Gmail users",
  ],
  [
    "sender_blocked",
    "google",
    "421-4.7.0 [192.0.2.1      15] Our system has detected an unusual rate of|421-4.7.0 unsolicited mail originating from your IP address.|421 4.7.0 - gsmtp",
  ],
  [
    "sender_blocked",
    null,
    "550 5.7.23 <user@example.com>: Recipient address rejected: Message rejected due to: SPF fail - not authorized",
  ],
  ["sender_blocked", null, "450 4.1.8 <probe@rcpt.example>: Sender address rejected: Domain not found"],
  ["sender_blocked", null, "550 5.1.8 <probe@rcpt.example>: Sender address rejected: Domain not found"],
  ["sender_blocked", null, "550 5.1.0 <probe@rcpt.example> sender rejected"],
  [
    "sender_blocked",
    null,
    "550-Verification failed for <probe@rcpt.example>|550-No Such User Here|550 Sender verify failed",
  ],
  ["sender_blocked", null, "550 Callback setup failed while verifying <probe@rcpt.example>"],
  ["sender_blocked", null, "504 5.5.2 <probe>: Helo command rejected: need fully-qualified hostname"],
  ["sender_blocked", null, "450 4.7.1 <probe.rcpt.example>: Helo command rejected: Host not found"],
  ["sender_blocked", null, "550 5.7.1 Client host rejected: cannot find your reverse hostname, [192.0.2.1]"],
  [
    "sender_blocked",
    "mimecast",
    "550 csi.mimecast.org Poor Reputation Sender. - https://community.mimecast.com/docs/DOC-1369#550",
  ],
  [
    "sender_blocked",
    "proofpoint",
    "550 5.7.1 Mail from 192.0.2.1 blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1",
  ],
  [
    "sender_blocked",
    "barracuda",
    "550 permanent failure for one or more recipients (user@example.com:blocked)",
  ],
  [
    "sender_blocked",
    "cisco",
    "554 Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
  ],
  [
    "sender_blocked",
    "comcast",
    "554 resimta-po-01v.sys.comcast.net comcast 192.0.2.1 Comcast BL004 Blocked for spam.",
  ],
  ["sender_blocked", "mailru", "550 spam message discarded. IP 192.0.2.1 is blacklisted"],
  ["sender_blocked", "godaddy", "550 5.1.1 user unknown? your IP is on our blacklist"],
  ["sender_blocked", null, "550 5.1.1 mail from probe.rcpt.example is not wanted by this user"],
  [
    "sender_blocked",
    null,
    "550 JunkMail rejected - (probe.rcpt.example) [192.0.2.1]:54321 is in an RBL: listed",
  ],
  ["sender_blocked", null, "550 Rejected because 192.0.2.1 is in a black list at dnsbl.example.org"],
  ["sender_blocked", "netease", "553 Requested action not taken: NULL sender is not allowed"],

  ["sender_blocked", null, "550 5.1.1 <probe@probe.rcpt.example> does not exist"],
  ["sender_blocked", null, "550 <probe@probe.rcpt.example>: no such user"],
  ["sender_blocked", null, "550 5.7.1 Your email address does not exist: invalid sender"],
  ["sender_blocked", null, "550 5.7.1 Your host name was not found by reverse DNS"],
  [
    "sender_blocked",
    null,
    "571 Email from 198.51.100.7 is currently blocked by example.com's anti-spam system",
  ],

  // Policy, nothing about the mailbox
  ["refused_by_policy", null, "554 5.7.1 <user@example.com>: Relay access denied"],
  ["refused_by_policy", null, "550 5.7.1 Unable to relay"],
  ["refused_by_policy", null, "550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain"],
  ["refused_by_policy", null, "550 relay not permitted"],
  ["refused_by_policy", null, "550 5.1.1 <user@example.com>: relaying denied, no such user"],
  ["refused_by_policy", null, "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"],
  ["refused_by_policy", null, "554 5.7.1 <user@example.com>: Recipient address rejected: Access denied"],
  ["refused_by_policy", null, "550 5.4.1 Recipient address rejected: Access denied"],
  ["refused_by_policy", null, "550 Administrative prohibition"],
  ["refused_by_policy", null, "530 5.7.1 Authentication required"],
  ["refused_by_policy", null, "550 authentication required"],
  ["refused_by_policy", null, "550 5.7.1 Message rejected due to local policy."],
  ["refused_by_policy", null, "550"],
  ["refused_by_policy", null, "550 Requested action not taken: mailbox unavailable"],
  ["refused_by_policy", null, "553 Requested action not taken: mailbox name not allowed"],
  ["refused_by_policy", null, "554 Transaction failed"],
  ["refused_by_policy", null, "550 Rejected"],
  ["refused_by_policy", null, "550 5.7.1 RESOLVER.RST.AuthRequired; authentication required"],
  ["refused_by_policy", "microsoft365", "550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain"],
  ["refused_by_policy", "orange", "550 5.2.0 Mail rejete. Mail rejected. OFR_506 [506]"],
  [
    "refused_by_policy",
    "netease",
    "554 DT:SPM 163 mx1, please see http://mail.163.com/help/help_spam_16.htm",
  ],
  ["refused_by_policy", null, "550 5.7.1 This group only accepts messages: restricted"],
  ["refused_by_policy", null, "552 5.3.4 Message size exceeds fixed limit: too large"],
  ["refused_by_policy", null, "550 5.1.2 <user@example.com>: Recipient address rejected: Domain not found"],
  ["refused_by_policy", null, "550 5.1.1 unknown domain"],

  [
    "refused_by_policy",
    null,
    "550 5.7.1 <user@example.com>: Recipient address rejected: undeliverable address: mail for example.com loops back to myself",
  ],
  ["refused_by_policy", null, "550 5.2.1 This mailbox does not accept mail"],
  ["refused_by_policy", null, "550 5.7.1 User doesn't have permission to receive external mail"],
  ["refused_by_policy", null, "550 Invalid recipient domain"],
  [
    "refused_by_policy",
    null,
    "550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed",
  ],
  [
    "refused_by_policy",
    null,
    "550 5.1.1 <user@example.com>: Recipient address rejected: blocked as spam trap",
  ],
  ["refused_by_policy", null, "550 5.7.1 This mailbox does not accept mail from outside the organisation"],
  ["refused_by_policy", null, "550 5.1.1 temporarily deferred"],
  ["refused_by_policy", null, "550 Your account has been suspended"],
  ["refused_by_policy", null, "550 invalid user agent"],
  [
    "refused_by_policy",
    null,
    "550 5.7.1 TRANSPORT.RULES.RejectMessage; the message was rejected by organization policy",
  ],
  ["refused_by_policy", null, "550 Service unavailable"],
  ["refused_by_policy", null, "556 5.7.1 Rejected"],
  ["refused_by_policy", null, "550 Mailbox is protected, only accepts mail from known contacts"],
  ["refused_by_policy", null, "571 Delivery not authorized, message refused"],
  ["refused_by_policy", null, "554 5.7.1 Recipient rejected for policy reasons"],

  // Their trouble
  ["smtp_protocol_error", null, "452 4.3.1 Insufficient system storage"],
  ["smtp_protocol_error", null, "451 4.3.0 <user@example.com>: Temporary lookup failure"],
  ["smtp_protocol_error", null, "451 4.3.5 Server configuration problem"],
  ["smtp_protocol_error", null, "451 Temporary local problem - please try later"],
  [
    "smtp_protocol_error",
    null,
    "450 4.1.1 <user@example.com>: Recipient address rejected: unverified address: Address verification in progress",
  ],
  [
    "smtp_protocol_error",
    null,
    "450 4.1.1 <user@example.com>: Recipient address rejected: User unknown in local recipient table",
  ],
  ["smtp_protocol_error", null, "450 4.2.1 Mailbox temporarily disabled"],
  ["smtp_protocol_error", null, "451 Requested action aborted: local error in processing"],
  ["smtp_protocol_error", null, "421 4.3.2 Service not active"],
  ["smtp_protocol_error", null, "421 mx.example.com Service not available, closing transmission channel"],
  ["smtp_protocol_error", null, "503 5.5.1 Error: need MAIL command"],
  ["smtp_protocol_error", null, "501 5.1.3 Bad recipient address syntax"],
  ["smtp_protocol_error", null, "500 Command not recognised"],
  ["smtp_protocol_error", null, "354 Go ahead"],
  ["smtp_protocol_error", "microsoft365", "451 4.4.62 Mail sent to the wrong Office 365 region. ATTR35"],
];

const EARLIER: readonly (readonly [ReplyStage, ...Entry])[] = [
  ["greeting", "no_connect", null, "554 No SMTP service here"],
  ["greeting", "no_connect", null, "521 mx.example.com does not accept mail"],
  [
    "greeting",
    "sender_blocked",
    "telekom",
    "554 IP=192.0.2.1 - A problem occurred. (Ask your postmaster for help or to contact tosa@example.de to clarify.)",
  ],
  [
    "greeting",
    "sender_blocked",
    "gmx",
    "554-gmx.net (mxgmx016) Nemesis ESMTP Service not available|554-No SMTP service|554-IP address is block listed.|554 For explanation visit https://postmaster.gmx.net/en/error-messages?ip=192.0.2.1",
  ],
  [
    "greeting",
    "sender_blocked",
    "cisco",
    "554-esa1.example.com|554 Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
  ],
  ["greeting", "sender_blocked", null, "554 5.7.1 rejected"],
  [
    "greeting",
    "sender_blocked",
    "proofpoint",
    "554 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.1",
  ],
  [
    "greeting",
    "rate_limited_by_server",
    null,
    "421 4.7.0 mx.example.com Error: too many connections from 192.0.2.1",
  ],
  ["greeting", "rate_limited_by_server", "free_fr", "421 Too many connections from your IP"],
  [
    "greeting",
    "rate_limited_by_server",
    null,
    "421 4.3.2 The maximum number of concurrent server connections has exceeded a limit, closing transmission channel",
  ],
  ["greeting", "smtp_protocol_error", null, "421 mx.example.com Service not available"],
  ["greeting", "greylisted", null, "451 4.7.1 Greylisted, please try again"],
  ["ehlo", "sender_blocked", null, "550 Access denied - Invalid HELO name (See RFC2821 4.1.1.1)"],
  ["ehlo", "smtp_protocol_error", null, "502 5.5.2 Error: command not recognized"],
  ["ehlo", "sender_blocked", null, "554 probe.rcpt.example refused"],
  ["starttls", "smtp_protocol_error", null, "454 4.7.0 TLS not available due to local problem"],
  [
    "mail",
    "sender_blocked",
    null,
    "550 5.1.8 <probe@rcpt.example>: Sender address rejected: Domain not found",
  ],
  ["mail", "sender_blocked", null, "550 5.1.1 User unknown"],
  ["mail", "sender_blocked", null, "550 5.7.1 Command rejected"],
  ["mail", "sender_blocked", null, "553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)"],
  ["mail", "refused_by_policy", null, "530 5.7.0 Must issue a STARTTLS command first"],
  [
    "mail",
    "refused_by_policy",
    null,
    "530 5.7.57 Client not authenticated to send mail: authentication required",
  ],
  ["mail", "smtp_protocol_error", null, "452 4.3.1 Insufficient system storage"],
  ["mail", "smtp_protocol_error", null, "503 5.5.1 Error: send HELO/EHLO first"],
  ["mail", "greylisted", null, "451 4.7.1 Greylisting in effect"],
  [
    "mail",
    "sender_blocked",
    "yahoo",
    "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints",
  ],
];

export interface Labelled {
  stage: ReplyStage;
  label: SmtpClass;
  provider: string | null;
  /** As on the wire, without CRLF. */
  lines: string[];
}

function labelled(stage: ReplyStage, [label, provider, reply]: Entry): Labelled {
  const lines = reply.split("|");
  // Continuation lines may be written short, as the last line.
  const wire = lines.map(
    (line, i) => `${line.slice(0, 3)}${i < lines.length - 1 ? "-" : " "}${line.slice(4)}`,
  );
  return { stage, label, provider, lines: wire };
}

export const CORPUS: readonly Labelled[] = [
  ...RCPT.map((entry) => labelled("rcpt", entry)),
  ...EARLIER.map(([stage, ...entry]) => labelled(stage, entry)),
];
