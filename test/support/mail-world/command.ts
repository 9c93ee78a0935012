import { StringDecoder } from "node:string_decoder";
import type { Recipient } from "./profile.ts";

/** The argument of MAIL (RFC 5321 §4.1.1.2): the address, and whether the transaction is SMTPUTF8; null when malformed. */
export function parseSender(argument: string): { address: string; smtputf8: boolean } | null {
  const match = /^FROM:<([^<>]*)>((?: [^ ]+)*)$/i.exec(argument);
  if (match === null) return null;
  const [, address = "", parameters = ""] = match;
  return { address, smtputf8: parameters.toUpperCase().split(" ").includes("SMTPUTF8") };
}

/** The argument of RCPT (§4.1.1.3), its local part unquoted; null when malformed. */
export function parseRecipient(argument: string): Recipient | null {
  const match = /^TO:<("(?:[^"\\]|\\.)*"|[^<>"@]+)@([^<>@ ]+)>(?: [^ ]+)*$/i.exec(argument);
  if (match === null) return null;
  const [, local = "", domain = ""] = match;
  const unquoted = local.startsWith('"') ? local.slice(1, -1).replace(/\\(.)/g, "$1") : local;
  return { local: unquoted, domain: domain.toLowerCase() };
}

export function isAscii(recipient: Recipient): boolean {
  return /^[\x00-\x7f]*$/.test(recipient.local + recipient.domain);
}

/** Most characters of an unfinished line that are buffered. */
const LINE_MAX = 4_096;

/** Cuts a stream of bytes into lines at LF, a CR before it included, and UTF-8 characters never in two. */
export function createLineReader(): { read(chunk: Buffer): string[] } {
  const decoder = new StringDecoder("utf8");
  let pending = "";
  return {
    read(chunk) {
      const lines = (pending + decoder.write(chunk)).split("\n");
      pending = (lines.pop() ?? "").slice(0, LINE_MAX);
      return lines;
    },
  };
}
