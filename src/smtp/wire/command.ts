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

/** @param utf8 the mailbox needs SMTPUTF8: RFC 6531 §3.4 requires MAIL to announce it. */
export function mailFrom(path: ReversePath, utf8: boolean): string {
  return utf8 ? `MAIL FROM:<${path}> SMTPUTF8\r\n` : `MAIL FROM:<${path}>\r\n`;
}

export function rcptTo(mailbox: Mailbox): string {
  return `RCPT TO:<${mailbox.address}>\r\n`;
}

/** The commands before the recipient, cached for the last reverse path: a process uses one. */
let cachedPrefix = { path: "" as string, text: "MAIL FROM:<>\r\nRCPT TO:<" };

/** A whole transaction of one recipient: MAIL, RCPT and RSET in one write. */
export function transactionCommands(path: ReversePath, mailbox: Mailbox): string {
  if (mailbox.utf8) return mailFrom(path, true) + rcptTo(mailbox) + RSET;
  if (cachedPrefix.path !== path) cachedPrefix = { path, text: `MAIL FROM:<${path}>\r\nRCPT TO:<` };
  return `${cachedPrefix.text}${mailbox.address}>\r\nRSET\r\n`;
}
