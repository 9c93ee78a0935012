import { STATUS_CODES } from "node:http";
import { LIMITS } from "../../config/limits/limits.ts";

/** A body that is made while it is sent, as fast as the client takes it. */
export interface BodyStream {
  /** In all; null: not known before the end, so that it is sent in chunks. */
  readonly bytes: number | null;
  /** The stream has no end of its own for a client to wait for: a process that shuts down ends it at once. */
  readonly endless?: boolean;
  /**
   * Called at most once, and not for HEAD. Pieces may have any size. Each is requested when the one before has been taken.
   * An error, or another number of bytes than `bytes`, closes the connection, so that the client does not take a part for
   * the whole.
   * @param gone aborted when the client has disconnected or the body is cut off: no piece is requested after that
   */
  open(gone: AbortSignal): AsyncIterable<Uint8Array>;
}

export type ReplyBody = string | Uint8Array | BodyStream | null;

export function isStream(body: ReplyBody): body is BodyStream {
  return typeof body === "object" && body !== null && !(body instanceof Uint8Array);
}

/** Headers of a reply that has none of its own. */
export const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** A reply to a request. The server writes it to the socket. */
export class HttpReply {
  readonly status: number;
  /** null: no body (204). */
  readonly body: ReplyBody;
  readonly contentType: ContentType;
  /** Beyond those that every response has. Names in their usual case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The error code of a problem, for the log; null on success. */
  readonly code: string | null;
  /**
   * A body of text is known to be ASCII: as many bytes as characters, and none that has to be looked at. To look, and to join the
   * text for that, cost an uncached answer 1 to 2 us.
   */
  readonly isAscii: boolean;
  /** Others with the same `headers` object have the same head, but for id and numbers: it is made once for all of them. */
  readonly isHeadShared: boolean;
  /** Called once when the body is no longer needed: it is sent, or the client has disconnected. null: no callback. */
  readonly released: (() => void) | null;

  constructor(
    status: number,
    body: ReplyBody,
    options: {
      contentType?: ContentType;
      headers?: Readonly<Record<string, string>>;
      code?: string;
      released?: () => void;
      isAscii?: boolean;
      isHeadShared?: boolean;
    } = {},
  ) {
    this.status = status;
    this.body = body;
    this.contentType = options.contentType ?? "application/json";
    this.headers = options.headers ?? NO_HEADERS;
    this.code = options.code ?? null;
    this.released = options.released ?? null;
    this.isAscii = options.isAscii ?? false;
    // Nearly every answer says nothing of its own.
    const isUsual = status === 200 && this.headers === NO_HEADERS && this.contentType === "application/json";
    this.isHeadShared = options.isHeadShared ?? (isUsual && body !== null);
  }
}

export type ContentType =
  | "application/json"
  | "application/problem+json"
  | "application/x-ndjson"
  | "text/event-stream"
  | "text/csv; charset=utf-8"
  | "text/html; charset=utf-8"
  | "text/css; charset=utf-8"
  | "text/javascript; charset=utf-8"
  | "image/png"
  | "image/svg+xml";

/** Status lines by code, built once: `200 OK`. */
const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text}`]),
);

export function statusLine(status: number): string {
  return statusLines.get(status) ?? String(status);
}

/** A body that is sent as the client takes it; null: another, and what others answer fits the buffers of any connection. */
export function largeBodyOf({ body }: HttpReply): Uint8Array | null {
  if (typeof body === "string") return body.length > LIMITS.http.bufferedBytes ? Buffer.from(body) : null;
  return body instanceof Uint8Array && body.length > LIMITS.http.bufferedBytes ? body : null;
}

export function hasWholeBody(reply: HttpReply): reply is HttpReply & { body: string | Uint8Array } {
  return typeof reply.body === "string" || reply.body instanceof Uint8Array;
}

export const hasStream = (reply: HttpReply): reply is HttpReply & { body: BodyStream } =>
  isStream(reply.body);
