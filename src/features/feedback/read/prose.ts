import type { Email } from "postal-mime";
import { LIMITS } from "../../../config/limits/limits.ts";
import { NO_ANSWER, type ReportedEvent } from "../event.ts";
import { readBounce } from "./bounce-class.ts";

const { recipientsPerMessage, replyChars } = LIMITS.feedback;

/** QSBMF (qmail-send bounce message format): its first paragraph, and the line before the returned message. */
const QMAIL_START = /^Hi\. This is the /;
const QMAIL_END = /^--- (?:Below this line is a copy|Enclosed are the original headers)/m;
const QMAIL_RECIPIENT = /^<([^\s<>]{3,320})>:[ \t]*$/;

function bounced(address: string, reply: string, atMs: number | null): ReportedEvent {
  // The server gave the message up, so it will not be retried. Only the text shows whether the mailbox is gone.
  const bounce = readBounce({
    ...{ reply: reply.slice(0, replyChars), enhancedCode: null, mxHost: hostIn(reply) },
    permanent: null,
  });
  return { ...NO_ANSWER, address, outcome: "bounced", atMs, bounce };
}

/** The host of `host mx.example.com [192.0.2.1]` (Exim, Postfix); "": none is named. */
function hostIn(reply: string): string {
  return /\bhost ([a-z0-9.-]{3,253})(?=[\s[:])/i.exec(reply)?.[1] ?? "";
}

/** Paragraphs of a recipient each: `<user@example.com>:`, then why. */
function readQmail(text: string, atMs: number | null): ReportedEvent[] {
  const [report = ""] = text.split(QMAIL_END, 1);
  const events: ReportedEvent[] = [];
  for (const paragraph of report.split(/\n[ \t]*\n/)) {
    const [first = "", ...why] = paragraph.trim().split("\n");
    const address = QMAIL_RECIPIENT.exec(first)?.[1];
    if (address === undefined) continue;
    events.push(bounced(address, why.join(" "), atMs));
    if (events.length === recipientsPerMessage) break;
  }
  return events;
}

/** Lines of one recipient that are read. */
const WORD_LINES = 20;

/**
 * Exim without a machine-readable part: the header names the recipients, and the text has the reason below each, indented.
 */
function readExim(named: string, text: string, atMs: number | null): ReportedEvent[] {
  const lines = text.split("\n");
  const isIndented = (line: string | undefined) => line !== undefined && /^[ \t]+\S/.test(line);
  const placeOf = new Map<string, number>();
  for (const [at, line] of lines.entries())
    if (isIndented(line)) placeOf.set(line.trim().replace(/:$/, ""), at);
  const wordsOf = (address: string) => {
    const words: string[] = [];
    for (let at = (placeOf.get(address) ?? lines.length) + 1; isIndented(lines[at]); at++)
      if (words.push((lines[at] as string).trim()) === WORD_LINES) break;
    return words.join(" ");
  };
  const addresses = named.split(",").map((address) => address.trim());
  return addresses
    .filter((address) => address !== "")
    .slice(0, recipientsPerMessage)
    .map((address) => bounced(address, wordsOf(address), atMs));
}

/** A bounce for people to read. @returns [] where it has none of the known forms */
export function readProse({ headers, text = "" }: Email, atMs: number | null): ReportedEvent[] {
  const plain = text.replaceAll("\r\n", "\n").trimStart();
  if (QMAIL_START.test(plain)) return readQmail(plain, atMs);
  const failed = headers.find(({ key }) => key === "x-failed-recipients");
  return failed === undefined ? [] : readExim(failed.value, plain, atMs);
}
