import { limitText, type RateLimitState } from "../../features/quota/limits-view.ts";
import { toWireText } from "../request/wire-text.ts";
import type { HeadParts } from "./head-template.ts";
import { type BodyStream, type HttpReply, isStream, statusLine } from "./reply.ts";

/** The methods of uWebSockets.js' response that the head of a reply needs. */
export interface HeadWriter {
  writeStatus(status: string | Uint8Array): unknown;
  writeHeader(key: string, value: string | Uint8Array): unknown;
}

/** The methods for a whole reply. */
export interface ResponseWriter extends HeadWriter {
  end(body: string | Uint8Array, closeConnection: boolean): unknown;
  endWithoutBody(): unknown;
}

/** The methods for a reply that is sent piece by piece. */
export interface LargeResponseWriter extends ResponseWriter {
  /** Sends the bytes that the connection takes now, without buffering the rest: [all was taken, the response is complete]. */
  tryEnd(body: Uint8Array, totalBytes: number): [boolean, boolean];
  /** `handler` is called with the bytes sent so far when the connection takes more. */
  onWritable(handler: (offset: number) => boolean): unknown;
}

const NOSNIFF = "\r\nX-Content-Type-Options: nosniff";
const NO_STORE = "\r\nCache-Control: no-store";
const UNSAFE = /[^\x20-\x7e]/;
const UNSAFE_ALL = /[^\x20-\x7e]/g;

/** Whatever a handler put into a header, no CR, LF or other control character reaches the wire. */
function fieldValue(text: string): string {
  return UNSAFE.test(text) ? text.replaceAll(UNSAFE_ALL, "") : text;
}

export interface WriteOptions {
  requestId: string;
  rate: RateLimitState | null;
  /** Further fields, each with CR LF before it. */
  cors: string;
  /** Status and fields as bytes, where they were made so; null: they are written from the rest. */
  head: Uint8Array | null;
  headOnly: boolean;
  /** The connection is closed behind the answer, by the client where we cannot. */
  close: boolean;
  /** The same, by us: nothing that comes behind the answer may be served. */
  mustClose: boolean;
}

function fieldsOfBody({ body, contentType, headers }: HttpReply): string {
  let block = NOSNIFF;
  if (body !== null) block += `\r\nContent-Type: ${contentType}`;
  if (headers["Cache-Control"] === undefined) block += NO_STORE;
  return block;
}

/** The header fields between the id and the value of `RateLimit`. */
function fieldsBeforeLimit(reply: HttpReply, policy: string): string {
  return `${fieldsOfBody(reply)}\r\nRateLimit-Policy: ${fieldValue(policy)}\r\nRateLimit: `;
}

/** The header fields behind it. */
function fieldsBehindLimit({ headers }: HttpReply): string {
  let block = "";
  for (const name in headers) {
    // Closing is done, not only said: see writeReply.
    if (name !== "Connection") block += `\r\n${name}: ${fieldValue(headers[name] ?? "")}`;
  }
  return block;
}

/** Status and fields of a reply around id and limits, for `createHeadTemplates`. */
export function headParts(reply: HttpReply, policy: string): HeadParts {
  return {
    status: statusLine(reply.status),
    before: fieldsBeforeLimit(reply, policy),
    behind: fieldsBehindLimit(reply),
  };
}

/**
 * All header fields as the value of one field. Each call into uWebSockets.js costs more than joining the strings, and it
 * writes a value unchanged. Every part is a constant, a valid id or has passed `fieldValue`.
 */
function fieldsAfterRequestId(reply: HttpReply, { rate, cors }: WriteOptions): string {
  if (rate !== null)
    return (
      fieldsBeforeLimit(reply, rate.policy) + fieldValue(limitText(rate)) + fieldsBehindLimit(reply) + cors
    );
  return fieldsOfBody(reply) + fieldsBehindLimit(reply) + cors;
}

/** Bytes of a reply's body; null: not known. */
function bodyBytesOf({ body, isAscii }: HttpReply): number | null {
  if (body === null) return 0;
  if (body instanceof Uint8Array || (isAscii && typeof body === "string")) return body.length;
  return isStream(body) ? body.bytes : Buffer.byteLength(body);
}

/** Bytes of a body that is sent whole. */
export function bodyBytes(reply: HttpReply): number {
  return bodyBytesOf(reply) ?? 0;
}

/**
 * A reply without a body (204, HEAD). `endWithoutBody` is called without arguments: with them, the uWebSockets.js for Node
 * 20 writes a wrong length or takes the exchange for unfinished. So the fields are written here. The client closes the
 * connection; `close()` does it for a client that does not.
 */
function endBodyless(response: ResponseWriter, reply: HttpReply, close: boolean): void {
  const bytes = reply.body === null ? null : bodyBytesOf(reply);
  if (bytes !== null) response.writeHeader("Content-Length", String(bytes));
  if (close) response.writeHeader("Connection", "close");
  response.endWithoutBody();
}

/**
 * Writes a whole reply; the caller corks and knows that the client is still there.
 */
export function writeReply(response: ResponseWriter, reply: HttpReply, options: WriteOptions): void {
  writeHead(response, reply, options);
  const { body } = reply;
  const { mustClose } = options;
  const close = options.close || mustClose;
  if (options.headOnly && mustClose) response.end("", true);
  else if (body === null || options.headOnly || isStream(body)) endBodyless(response, reply, close);
  else response.end(reply.isAscii ? body : toWireText(body), close);
}

/**
 * Writes the head of a reply whose body `sendStream` sends. If the connection is to be closed, the client is asked to close
 * it, as in `endBodyless`.
 */
export function writeStreamHead(
  response: ResponseWriter,
  reply: HttpReply & { body: BodyStream },
  options: WriteOptions,
): void {
  writeHead(response, reply, options);
  if (options.close) response.writeHeader("Connection", "close");
}

/**
 * Writes a reply with a large body, many of which may be in progress at once. All are sent from one copy as the clients
 * take it: `end` would copy the rest for each client. If the connection is to be closed, the client is asked to close it,
 * as in `endBodyless`.
 * @param progress `sentUpTo` is called with the bytes sent so far, `done` when all was sent: never when the client
 *   disconnects before
 */
export function writeWithBackPressure(
  response: LargeResponseWriter,
  reply: HttpReply,
  body: Uint8Array,
  options: WriteOptions,
  progress: { sentUpTo(offset: number): void; done(): void },
): void {
  const sendFrom = (offset: number) => {
    progress.sentUpTo(offset);
    const [taken, complete] = response.tryEnd(body.subarray(offset), body.length);
    if (complete) progress.done();
    return taken;
  };
  writeHead(response, reply, options);
  if (options.close || options.mustClose) response.writeHeader("Connection", "close");
  response.onWritable(sendFrom);
  sendFrom(0);
}

/** Status and fields, those of `reply.headers` included; not whether the connection is to be closed. */
export function writeHead(response: HeadWriter, reply: HttpReply, options: WriteOptions): void {
  if (options.head !== null) {
    response.writeStatus(options.head);
    return;
  }
  // uWebSockets.js writes "200 OK" by itself.
  if (reply.status !== 200) response.writeStatus(statusLine(reply.status));
  response.writeHeader("X-Request-Id", options.requestId + fieldsAfterRequestId(reply, options));
}
