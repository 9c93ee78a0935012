import type { Actor } from "../../features/identity/actor.ts";
import type { AddressQuestion } from "../../features/verify/answer/address-question.ts";
import type { AnswerNote, CachedAnswer } from "../../features/verify/answer/answer-note.ts";
import type { AdmissionSlot } from "../../features/verify/checks/admission.ts";
import type { SampledRequest, Span, Tracer } from "../../platform/telemetry/tracing.ts";
import type { RequestBody } from "../body/body.ts";
import type { IncomingBody } from "../body/incoming-body.ts";
import { parseQuery } from "./query.ts";
import type { RequestIds } from "./request-id.ts";

/**
 * Headers that are copied from a request, lower case: uWebSockets.js' own request is invalid once its handler returns. For
 * a route without a body only `authorization` is read, and the headers that the route names (`readsHeaders`).
 */
export const RETAINED_HEADERS = [
  "accept-encoding",
  "authorization",
  "content-digest",
  "content-encoding",
  "content-md5",
  "content-range",
  "content-type",
  "idempotency-key",
  "if-none-match",
  "if-range",
  "last-event-id",
  "range",
  "repr-digest",
  "stripe-signature",
] as const;
export type RetainedHeader = (typeof RETAINED_HEADERS)[number];

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

export interface HttpRequestInit {
  /** The caller's; else whence one of our own comes. */
  id: string | RequestIds;
  /** The method as sent: methods are case-sensitive. */
  method: string;
  path: string;
  /** The query without `?`; not decoded. */
  rawQuery: string;
  startedMs: number;
}

/** The exchange as a handler sees it, besides its validated input. */
export interface Cancellation {
  /** True once the client has gone: the answer will not be read. */
  cancelled(): boolean;
  /** Runs `callback` once if the client disconnects before the answer; at once if it has. */
  onCancel(callback: () => void): void;
}

/** One request as plain data, copied out of the server's before anything may wait. */
export class HttpRequest implements Cancellation {
  /** Number of an id of our own; -1: the caller has sent one. */
  readonly ownId: number;
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  readonly startedMs: number;
  /** Kept headers that the request has; one given several times shows its first value. */
  readonly headers: Partial<Record<RetainedHeader, string>> = {};
  /** Decoded path parameters by name. */
  params: Readonly<Record<string, string>> = NO_PARAMS;
  /** The page that a browser sends this for; "" when there is none or where no other origins are allowed. */
  origin = "";
  /** A script of the portal sent it: a session that it begins or ends is the browser's cookie. */
  isFromPortal = false;
  /** Bytes of its body, whether or not the route takes one; null: it comes in chunks. */
  declaredBytes: number | null = 0;
  /** null: the route takes no body. */
  body: RequestBody | null = null;
  /** The body, for a route that takes it as it comes. */
  incoming: IncomingBody | null = null;
  /** Set by authentication. */
  actor: Actor | null = null;
  /** Set while the request may be traced, which depends on its sender; null: it is not traced, or this is decided. */
  sampled: { by: Tracer; as: SampledRequest } | null = null;
  /** Span of a traced request; null: it is not traced. */
  span: Span | null = null;
  /** Set once a verification is answered, for its line in the log. */
  note: AnswerNote | null = null;
  /** Set for a verification that cannot be answered at once: the slot with which its check may begin. */
  slot: AdmissionSlot | null = null;
  /** Set for a verification that the cache has an answer to: the answer found before its token was asked for. */
  cachedAnswer: CachedAnswer | null = null;
  /** Set for a verification without a cached answer: the question as read before its token was asked for. */
  addressQuestion: AddressQuestion | null = null;
  /** Input that the route read before the token was taken; null: none. */
  input: unknown = null;
  /** Text: it was read; null: the call that could read it is over. */
  #clientAddress: string | (() => string) | null = null;
  readonly #ids: RequestIds | null;
  #id: string | null = null;
  #cancelled = false;
  #onCancel: (() => void)[] | null = null;

  constructor(init: HttpRequestInit) {
    if (typeof init.id === "string") {
      this.#id = init.id;
      this.#ids = null;
      this.ownId = -1;
    } else {
      this.#ids = init.id;
      this.ownId = init.id.take();
    }
    this.method = init.method;
    this.path = init.path;
    this.rawQuery = init.rawQuery;
    this.startedMs = init.startedMs;
  }

  /** Put together when it is first asked for: an answer of the call that brought the request has it in bytes. */
  get id(): string {
    this.#id ??= this.#ids?.text(this.ownId) ?? "";
    return this.#id;
  }

  /**
   * Sets the function that reads the client's address. Reading costs calls into the server, so the address is read on first
   * use.
   */
  addressFrom(read: () => string): void {
    this.#clientAddress = read;
  }

  /** The call that brought the request is over: the server's own request object can no longer be read. */
  endCall(): void {
    void this.id;
    if (typeof this.#clientAddress === "function") this.#clientAddress = null;
  }

  /** Any time for routes that say `readsClientAddress`; for others within the call that brought the request. */
  get clientAddress(): string {
    if (typeof this.#clientAddress === "function") this.#clientAddress = this.#clientAddress();
    if (this.#clientAddress === null) throw new Error("the client's address was not read in time");
    return this.#clientAddress;
  }

  /** @throws AppError see `parseQuery` */
  query(): Record<string, string> {
    return parseQuery(this.rawQuery);
  }

  cancelled(): boolean {
    return this.#cancelled;
  }

  onCancel(callback: () => void): void {
    if (this.#cancelled) {
      callback();
      return;
    }
    if (this.#onCancel === null) this.#onCancel = [callback];
    else this.#onCancel.push(callback);
  }

  /** The server's: the client has gone. Idempotent. */
  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    const callbacks = this.#onCancel ?? [];
    this.#onCancel = null;
    for (const callback of callbacks) callback();
  }
}
