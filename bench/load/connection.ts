import { Client, type Dispatcher } from "undici";
import type { Clock } from "../../src/platform/time/clock.ts";
import { LIMITS } from "./bounds.ts";
import { type Connection, type FailureCause, type Outcome, readAnswer } from "./outcome.ts";

export interface ConnectionSettings {
  /** Scheme, host and port. */
  origin: string;
  key: string;
  timeoutMs: number;
  clock: Clock;
}

/** Codes of a connection that was there and ended. */
const RESET: ReadonlySet<string> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE", "ETIMEDOUT"]);
const IDLE_MS = 60_000;

function causeOf(error: Error, wasSent: boolean): FailureCause {
  const code = "code" in error ? String(error.code) : "";
  if (code.startsWith("HPE_") || error.name === "HTTPParserError") return "malformed";
  if (!wasSent) return "connect";
  return RESET.has(code) ? "reset" : "malformed";
}

const only = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value) ?? null;

/** One request and its answer. Reports once, whatever undici reports later. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #clock: Clock;
  readonly #timer: ReturnType<typeof setTimeout>;
  #tell: ((outcome: Outcome) => void) | null;
  #controller: Dispatcher.DispatchController | null = null;
  #status = 0;
  #retryAfter: string | null = null;
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** @param onStuck called before `tell` when the time is over and there is no connection yet */
  constructor(settings: ConnectionSettings, tell: (outcome: Outcome) => void, onStuck: () => void) {
    this.#clock = settings.clock;
    this.#tell = tell;
    this.#timer = setTimeout(() => {
      if (this.#controller === null) onStuck();
      this.#giveUp(this.#controller === null ? "connect" : "timeout");
    }, settings.timeoutMs);
  }

  /** Reports nothing any more. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#tell = null;
  }

  #finish(outcome: Outcome): void {
    const tell = this.#tell;
    this.drop();
    tell?.(outcome);
  }

  #giveUp(cause: FailureCause): void {
    const tell = this.#tell;
    // Dropped first, since undici reports the abort at once; and the next request must not use this one's connection.
    this.drop();
    this.#controller?.abort(new Error(cause));
    tell?.({ kind: "failure", cause });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    fields: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    this.#retryAfter = only(fields["retry-after"]);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > LIMITS.answerBytes) this.#giveUp("too_large");
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#finish(readAnswer(this.#status, this.#retryAfter, body.toString("utf8"), this.#clock.now()));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ kind: "failure", cause: causeOf(error, this.#controller !== null) });
  }
}

/**
 * One connection over undici, never pipelined; it is made when it is first needed, and anew when it broke. The timeout is
 * over the whole answer, connecting included. undici's own are switched off: they are several, and coarse.
 */
export function createConnection(settings: ConnectionSettings): Connection {
  const headers = { authorization: `Bearer ${settings.key}`, "user-agent": "rcpt-load" };
  const connect = () =>
    new Client(settings.origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      connect: { timeout: settings.timeoutMs },
    });
  let client = connect();
  let exchange: Exchange | null = null;

  /** A request in flight has been reported or dropped: the promise's rejection is expected. */
  const abandon = () => void client.destroy().catch(() => {});

  return {
    send(path, tell) {
      exchange = new Exchange(settings, tell, () => {
        // Else the next request would stand in line behind one that still waits for its connection.
        abandon();
        client = connect();
      });
      client.dispatch({ path, method: "GET", headers }, exchange);
    },
    close() {
      exchange?.drop();
      abandon();
    },
  };
}
