import { open } from "node:fs/promises";
import type { FeedbackEvent } from "../../packages/client/src/index.ts";
import { LIMITS } from "../config/limits/limits.ts";
import type { ReportedEvent } from "../features/feedback/event.ts";
import { readFeedbackFile } from "../features/feedback/read/file.ts";
import type { FileReading, TableOptions } from "../features/feedback/read/table.ts";
import { REASONS } from "../features/verify/answer/verification-result.ts";
import { UsageError } from "../operator/command.ts";
import { readAddresses } from "../verification/address/addresses-in.ts";

const { listBytes } = LIMITS.verifier;
const MOST = Number.POSITIVE_INFINITY;
/** Bounds of files that are read here: what fits into memory. */
const BOUNDS = {
  events: MOST,
  messages: MOST,
  mailMs: MOST,
  slowMailMs: MOST,
  rows: MOST,
  textBytes: listBytes,
};

async function readBounded(source: AsyncIterable<Buffer>, path: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of source) {
    bytes += piece.length;
    if (bytes > listBytes) throw new UsageError(`${path} is over ${listBytes} bytes: split it`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function bytesOf(path: string): Promise<Buffer> {
  if (path === "-") return readBounded(process.stdin, "standard input");
  const file = await open(path).catch((error: Error) => {
    throw new UsageError(`${path} cannot be read: ${error.message}`);
  });
  try {
    if ((await file.stat()).isDirectory())
      throw new UsageError(`${path} is a folder: name its files, such as ${path.replace(/\/+$/, "")}/*`);
    return await readBounded(file.createReadStream({ autoClose: false }), path);
  } finally {
    await file.close();
  }
}

/**
 * The events of a file, or of standard input (`-`).
 * @throws UsageError when it cannot be read or is not a table with outcomes
 */
export async function readFile(path: string, options: TableOptions): Promise<FileReading> {
  const bytes = await bytesOf(path);
  try {
    return await readFeedbackFile(bytes, options, BOUNDS);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new UsageError(`${path}: ${error.message} (--outcome and --column say what is not found)`, {
      cause: error,
    });
  }
}

/** An event of one address. */
export interface AddressedEvent {
  /** The address, all spellings of a mailbox alike, as results have it. */
  email: string;
  event: ReportedEvent;
}

/** The events that name one address. */
export function addressedEvents(events: readonly ReportedEvent[]): AddressedEvent[] {
  return events.flatMap((event) => {
    const reading = readAddresses(event.address);
    return reading.kind === "one" ? [{ email: reading.address.normalised, event }] : [];
  });
}

const NAME = /^[a-z0-9_.-]{1,100}$/i;
const nameOf = (text: string | null) => (text !== null && NAME.test(text) ? text : null);
/** Removes characters that JSON or the database refuses: null bytes and lone surrogates. */
const sendable = (text: string, maxChars: number) =>
  Buffer.from(text.replaceAll("\0", "").slice(0, maxChars)).toString();

/** A time of a year that the API reads: one to come counts as now, and one so old does not count. */
const timeOf = (ms: number) => new Date(Math.min(Math.max(ms, 0), Date.now())).toISOString();

/** Converts an event to the API's form. The API reads the reply again. */
export function toApiEvent({ email, event }: AddressedEvent): FeedbackEvent {
  const { outcome, atMs, bounce, verdict, reason, provider, rule } = event;
  const { reply = "", enhancedCode = null, permanent = null, mxHost = "" } = bounce?.said ?? {};
  const isCode = enhancedCode !== null && /^[245]\.\d{1,3}\.\d{1,3}$/.test(enhancedCode);
  return {
    address: email,
    outcome,
    ...(atMs === null ? {} : { at: timeOf(atMs) }),
    ...(reply === "" ? {} : { reply: sendable(reply, LIMITS.feedback.replyChars) }),
    ...(isCode ? { enhanced_code: enhancedCode } : {}),
    ...(permanent === null ? {} : { bounce: permanent ? "hard" : "soft" }),
    ...(mxHost === "" ? {} : { mx_host: sendable(mxHost, 253) }),
    verdict,
    reason: REASONS.find((known) => known === reason) ?? null,
    provider: nameOf(provider),
    rule: nameOf(rule),
  };
}
