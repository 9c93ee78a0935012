import { errorOf, malformedAnswer, networkError, RcptError } from "./errors.ts";
import { LimitsSeen } from "./limits.ts";
import { type QueryValues, urlOf } from "./paths.ts";
import { Deadline, pause, Waits } from "./pause.ts";
import { mayRepeat, type Repeating, repeatingOf, takesKey } from "./repeat.ts";

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 10_000;

export type Body = string | Blob | Uint8Array | ReadableStream<Uint8Array>;

/** A request of the API. */
export interface ApiRequest {
  method: string;
  /** As the API describes it, parameters by name. */
  path: string;
  parameters?: object | undefined;
  query?: QueryValues | undefined;
  headers?: Record<string, string> | undefined;
  /** Sent as JSON; a stream, a Blob or bytes as they are. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  idempotencyKey?: string | undefined;
}

export interface TransportOptions {
  url: string;
  key: string | undefined;
  fetch: typeof fetch;
  timeoutMs: number;
  maxAttempts: number;
  pace: boolean;
}

interface Prepared {
  url: string;
  init: RequestInit & { duplex?: "half" };
  route: string;
  repeating: Repeating;
}

const isStream = (body: unknown): body is ReadableStream<Uint8Array> => body instanceof ReadableStream;
const isRaw = (body: unknown): body is Body =>
  isStream(body) || body instanceof Blob || body instanceof Uint8Array;

/** @throws the reason of an aborted signal; else a network failure as RcptError */
export async function fetchOnce(
  fetching: typeof fetch,
  url: string,
  init: RequestInit & { signal: AbortSignal },
): Promise<Response> {
  try {
    return await fetching(url, init);
  } catch (error) {
    init.signal.throwIfAborted();
    throw networkError(error);
  }
}

/** Sends requests of the API, repeats what may be repeated, and turns refusals into errors. */
export class Transport {
  readonly #options: TransportOptions;
  readonly seen = new LimitsSeen();

  constructor(options: TransportOptions) {
    // Reports an invalid URL now, not at every request.
    const { href } = new URL(options.url);
    // Errors of `Headers` would say the key.
    if (options.key && !/^[!-~]+$/.test(options.key.trim()))
      throw new TypeError("the key has characters that no key has, such as spaces or line breaks");
    this.#options = { ...options, url: href.replace(/\/+$/, "") };
  }

  /** For requests to other servers, such as object storage. */
  get fetch(): typeof fetch {
    return this.#options.fetch;
  }

  #prepare(request: ApiRequest): Prepared {
    const { method, path, body } = request;
    const headers = new Headers({ Accept: "application/json" });
    if (this.#options.key) headers.set("Authorization", `Bearer ${this.#options.key}`);
    for (const [name, value] of Object.entries(request.headers ?? {})) headers.set(name, value);
    if (takesKey(method, path) && !headers.has("Idempotency-Key"))
      headers.set("Idempotency-Key", request.idempotencyKey ?? crypto.randomUUID());
    if (body !== undefined && !headers.has("Content-Type"))
      headers.set("Content-Type", isRaw(body) ? "application/octet-stream" : "application/json");
    const sent = body === undefined || isRaw(body) ? body : JSON.stringify(body);
    return {
      url: urlOf(this.#options.url, path, request.parameters, request.query),
      route: `${method} ${path}`,
      repeating: repeatingOf({
        ...{ method, path },
        hasKey: headers.has("Idempotency-Key"),
        hasStream: isStream(body),
      }),
      init: {
        ...{ method, headers, redirect: "manual" as const },
        ...(sent === undefined ? {} : { body: sent as NonNullable<RequestInit["body"]> }),
        ...(isStream(body) ? { duplex: "half" as const } : {}),
      },
    };
  }

  /** @throws RcptError, what `signal` is aborted with */
  async #attempt<T>(
    prepared: Prepared,
    signal: AbortSignal,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const response = await fetchOnce(this.#options.fetch, prepared.url, { ...prepared.init, signal });
    this.seen.onAnswer(prepared.route, response.headers);
    if (!response.ok) {
      const error = await errorOf(response);
      signal.throwIfAborted();
      throw error;
    }
    try {
      return await read(response);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RcptError) throw error;
      throw error instanceof SyntaxError ? malformedAnswer(error) : networkError(error);
    }
  }

  async #paced(prepared: Prepared, deadline: Deadline): Promise<void> {
    const ms = this.#options.pace ? this.seen.waitMs(prepared.route) : 0;
    if (ms > 0 && deadline.hasTimeFor(ms)) await pause(ms, deadline.signal);
  }

  async #send<T>(request: ApiRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const prepared = this.#prepare(request);
    const deadline = new Deadline(request.timeoutMs ?? this.#options.timeoutMs, request.signal);
    const waits = new Waits(FIRST_WAIT_MS, LAST_WAIT_MS);
    let wasLost = false;
    try {
      for (let attempt = 1; ; attempt++) {
        await this.#paced(prepared, deadline);
        try {
          return await this.#attempt(prepared, deadline.signal, read);
        } catch (error) {
          if (!(error instanceof RcptError) || deadline.signal.aborted) throw error;
          // A lost request may have deleted it: then the second one gets 404.
          if (wasLost && request.method === "DELETE" && error.status === 404) return undefined as T;
          const ms = waits.nextMs((error.retryAfterS ?? 0) * 1_000);
          const mayGoOn = attempt < this.#options.maxAttempts && deadline.hasTimeFor(ms);
          if (!mayGoOn || !mayRepeat(error, prepared.repeating)) throw error;
          wasLost ||= error.code === "network_error" || error.code === "http_error";
          await pause(ms, deadline.signal);
        }
      }
    } finally {
      deadline.lift();
    }
  }

  /** The JSON of the answer; undefined: it has no body. */
  json(request: ApiRequest): Promise<unknown> {
    return this.#send(request, async (response) => {
      const text = await response.text();
      if (text === "") return undefined;
      const isJson = response.headers.get("content-type")?.includes("json") === true;
      return isJson ? (JSON.parse(text) as unknown) : text;
    });
  }

  /** The answer as soon as its head is there: its body takes as long as it takes. */
  open(request: ApiRequest): Promise<Response> {
    return this.#send(request, async (response) => response);
  }
}
