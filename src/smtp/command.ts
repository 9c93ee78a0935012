import type { HeloName, Mailbox, ReversePath } from "./mailbox.ts";

/** Command lines (RFC 5321 §4.1), each with its CRLF, from checked values only. */
export const RSET = "RSET\r\n";
export const QUIT = "QUIT\r\n";
export const STARTTLS = "STARTTLS\r\n";

export function ehlo(name: HeloName): string {
  return `EHLO ${name}\r\n`;
}

export function helo(name: HeloName): string {
  return `HELO ${name}\r\n`;
}

/** @param utf8 the transaction's mailbox needs SMTPUTF8: RFC 6531 §3.4 has MAIL announce it. */
export function mailFrom(path: ReversePath, utf8: boolean): string {
  return utf8 ? `MAIL FROM:<${path}> SMTPUTF8\r\n` : `MAIL FROM:<${path}>\r\n`;
}

export function rcptTo(mailbox: Mailbox): string {
  return `RCPT TO:<${mailbox.address}>\r\n`;
}

/** What comes before the recipient, of the reverse path that was last asked for: a process has one. */
let opening = { path: "" as string, text: "MAIL FROM:<>\r\nRCPT TO:<" };

/** A whole transaction of one recipient: the three commands above in one write. */
export function transactionOf(path: ReversePath, mailbox: Mailbox): string {
  if (mailbox.utf8) return mailFrom(path, true) + rcptTo(mailbox) + RSET;
  if (opening.path !== path) opening = { path, text: `MAIL FROM:<${path}>\r\nRCPT TO:<` };
  return `${opening.text}${mailbox.address}>\r\nRSET\r\n`;
}
