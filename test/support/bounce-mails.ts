// Bounces and complaints in the formats of real mail systems; names and addresses are from example domains.

const lines = (...all: string[]) => Buffer.from(`${all.join("\r\n")}\r\n`);

/** A report of several parts. */
function report(header: string[], reportType: string, parts: [type: string, ...lines: string[]][]): Buffer {
  const type = `Content-Type: multipart/report; report-type=${reportType};\r\n\tboundary="=_part"`;
  const body = parts.flatMap(([part, ...text]) => ["--=_part", `Content-Type: ${part}`, "", ...text, ""]);
  return lines(
    ...header,
    "MIME-Version: 1.0",
    type,
    "",
    "This is a MIME message.",
    "",
    ...body,
    "--=_part--",
  );
}

const RETURNED = [
  "From: shop@sender.example",
  "To: Jane Doe <jane@customer.example>",
  "Subject: hello",
  "",
  "…",
];

export const postfixBounce = report(
  [
    "Date: Thu, 26 Nov 2026 10:15:00 +0100 (CET)",
    "From: MAILER-DAEMON@mail.sender.example (Mail Delivery System)",
    "Subject: Undelivered Mail Returned to Sender",
  ],
  "delivery-status",
  [
    ["text/plain; charset=us-ascii", "This is the mail system at host mail.sender.example."],
    [
      "message/delivery-status",
      "Reporting-MTA: dns; mail.sender.example",
      "X-Postfix-Queue-ID: 4F2C11",
      "Arrival-Date: Thu, 26 Nov 2026 10:14:58 +0100 (CET)",
      "",
      "Final-Recipient: rfc822; jane@customer.example",
      "Original-Recipient: rfc822;jane@customer.example",
      "Action: failed",
      "Status: 5.1.1",
      "Remote-MTA: dns; mx.customer.example",
      "Diagnostic-Code: smtp; 550 5.1.1 <jane@customer.example>: Recipient address",
      "    rejected: User unknown in virtual mailbox table",
    ],
    ["message/rfc822", ...RETURNED],
  ],
);

/** A report on two recipients: one is only delayed, the other's mailbox is full. */
export const severalRecipients = report(["Date: Thu, 26 Nov 2026 10:15:00 +0000"], "delivery-status", [
  ["text/plain", "…"],
  [
    "message/delivery-status",
    "Reporting-MTA: dns; mail.sender.example",
    "",
    "Final-Recipient: rfc822; late@customer.example",
    "Action: delayed",
    "Status: 4.4.1",
    "",
    "Final-Recipient: rfc822; full@customer.example",
    "Action: failed",
    "Status: 5.2.2",
    "Diagnostic-Code: smtp; 552 5.2.2 mailbox full",
    "",
    "Final-Recipient: rfc822; happy@customer.example",
    "Action: delivered (to mailbox)",
    "Status: 2.1.5",
  ],
]);

export const gmailBounce = report(
  ["From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>", "Date: Thu, 26 Nov 2026 01:02:03 -0800"],
  "delivery-status",
  [
    ['text/plain; charset="UTF-8"', "Address not found"],
    [
      "message/delivery-status",
      "Reporting-MTA: dns; googlemail.com",
      "Arrival-Date: Thu, 26 Nov 2026 01:02:01 -0800 (PST)",
      "",
      "Final-Recipient: rfc822; nobody@gmail.com",
      "Action: failed",
      "Status: 5.1.1",
      "Remote-MTA: dns; gmail-smtp-in.l.google.com. (2001:db8::1b, the server for the",
      " domain gmail.com.)",
      "Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try",
      " 550-5.1.1 double-checking the recipient's email address for typos or",
      " 550-5.1.1 unnecessary spaces. For more information, go to",
      " 550 5.1.1  https://support.google.com/mail/?p=NoSuchUser a1-20020a - gsmtp",
      "Last-Attempt-Date: Thu, 26 Nov 2026 01:02:03 -0800 (PST)",
    ],
    ["message/rfc822", ...RETURNED],
  ],
);

export const exchangeBounce = report(
  [
    "From: postmaster@customer.example",
    "Date: Thu, 26 Nov 2026 09:00:00 +0000",
    "Auto-Submitted: auto-replied",
  ],
  "delivery-status",
  [
    ["text/html; charset=utf-8", "<p>Your message couldn't be delivered.</p>"],
    [
      "message/delivery-status",
      "Reporting-MTA: dns;AM0PR01MB0001.eurprd01.prod.exchangelabs.com",
      "Received-From-MTA: dns;mail.sender.example",
      "Arrival-Date: Thu, 26 Nov 2026 08:59:59 +0000",
      "",
      "Final-Recipient: rfc822;gone@customer.example",
      "Action: failed",
      "Status: 5.1.10",
      "Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient gone@customer.example not found by SMTP address lookup",
    ],
    ["message/rfc822", ...RETURNED],
  ],
);

/** In base64, as some gateways send it, with internationalised addresses (RFC 6533). */
export const encodedBounce = report(["Date: Thu, 26 Nov 2026 09:00:00 +0000"], "delivery-status", [
  ["text/plain", "…"],
  [
    "message/global-delivery-status\r\nContent-Transfer-Encoding: base64",
    Buffer.from(
      "Reporting-MTA: dns; mail.sender.example\r\n\r\nFinal-Recipient: utf-8; grüße@customer.example\r\n" +
        "Action: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 no such user\r\n",
    ).toString("base64"),
  ],
]);

/** Exim before it sent machine-readable reports. */
export const eximBounce = lines(
  "X-Failed-Recipients: jane@customer.example, joe@other.example",
  "Auto-Submitted: auto-replied",
  "From: Mail Delivery System <Mailer-Daemon@mail.sender.example>",
  "Subject: Mail delivery failed: returning message to sender",
  "Date: Thu, 26 Nov 2026 10:00:00 +0000",
  "",
  "This message was created automatically by mail delivery software.",
  "",
  "A message that you sent could not be delivered to one or more of its",
  "recipients. This is a permanent error. The following address(es) failed:",
  "",
  "  jane@customer.example",
  "    host mx.customer.example [192.0.2.25]",
  "    SMTP error from remote mail server after RCPT TO:<jane@customer.example>:",
  "    550 5.1.1 <jane@customer.example>: Recipient address rejected: User unknown",
  "  joe@other.example",
  "    all relevant MX records point to non-existent hosts",
  "",
  "------ This is a copy of the message, including all the headers. ------",
);

/** QSBMF: qmail's own form, older than RFC 3464. */
export const qmailBounce = lines(
  "Date: 26 Nov 2026 10:00:00 -0000",
  "From: MAILER-DAEMON@mail.sender.example",
  "Subject: failure notice",
  "",
  "Hi. This is the qmail-send program at mail.sender.example.",
  "I'm afraid I wasn't able to deliver your message to the following addresses.",
  "This is a permanent error; I've given up. Sorry it didn't work out.",
  "",
  "<jane@customer.example>:",
  "192.0.2.25 does not like recipient.",
  "Remote host said: 550 5.1.1 <jane@customer.example>: User unknown",
  "Giving up on 192.0.2.25.",
  "",
  "<joe@nosuch.example>:",
  "Sorry, I couldn't find any host named nosuch.example. (#5.1.2)",
  "",
  "--- Below this line is a copy of the message.",
  "",
  "<not@reported.example>:",
  "no recipient",
);

/** A feedback loop's complaint (RFC 5965). */
export const arfComplaint = report(
  ["From: <fbl@provider.example>", "Date: Thu, 26 Nov 2026 12:00:00 +0000"],
  "feedback-report",
  [
    ["text/plain", "This is an email abuse report."],
    [
      "message/feedback-report",
      "Feedback-Type: abuse",
      "User-Agent: SomeGenerator/1.0",
      "Version: 1",
      "Original-Rcpt-To: <jane@customer.example>",
      "Arrival-Date: Thu, 26 Nov 2026 11:00:00 +0000",
    ],
    ["message/rfc822", ...RETURNED],
  ],
);

/** One without an address: the returned message's only recipient complained. */
export const redactedComplaint = report(["Date: Thu, 26 Nov 2026 12:00:00 +0000"], "feedback-report", [
  ["text/plain", "…"],
  ["message/feedback-report", "Feedback-Type: abuse", "Version: 1"],
  ["message/rfc822", ...RETURNED],
]);

/** Withdrawn by the recipient. */
export const notSpam = report(["Date: Thu, 26 Nov 2026 12:00:00 +0000"], "feedback-report", [
  ["text/plain", "…"],
  ["message/feedback-report", "Feedback-Type: not-spam", "Original-Rcpt-To: jane@customer.example"],
]);

/** A message of a person. */
export const ordinaryMail = lines(
  "From: a@b.example",
  "To: c@d.example",
  "Subject: hi",
  "",
  "<a@b.example>:",
  "hi",
);

/** All of them in one mailbox. */
export const asMbox = (...mails: Buffer[]) =>
  Buffer.concat(
    mails.flatMap((mail) => [
      Buffer.from("From MAILER-DAEMON Thu Nov 26 10:00:00 2026\r\n"),
      mail,
      Buffer.from("\r\n"),
    ]),
  );

/** Dated today: what is over its retention does not count. */
export const datedToday = (mail: Buffer): Buffer =>
  Buffer.from(
    mail.toString("latin1").replaceAll("26 Nov 2026", new Date().toUTCString().slice(5, 16)),
    "latin1",
  );
