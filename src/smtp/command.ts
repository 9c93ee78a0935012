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

/** A whole transaction of one recipient: the three commands above in one write. */
export function transactionOf(path: ReversePath, mailbox: Mailbox): string {
  return mailbox.utf8
    ? mailFrom(path, true) + rcptTo(mailbox) + RSET
    : `MAIL FROM:<${path}>\r\nRCPT TO:<${mailbox.address}>\r\nRSET\r\n`;
}
