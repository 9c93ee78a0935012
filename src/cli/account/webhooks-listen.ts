import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type ItemOf, RcptError } from "../../../packages/client/src/index.ts";
import type { EventType } from "../../config/events.ts";
import { newSigningSecret, signatureHeaders } from "../../features/webhooks/signature.ts";
import { UsageError } from "../../operator/command.ts";
import { jsonLine, printable } from "../printable.ts";

export interface ListenOptions {
  forwardTo: string;
  events?: EventType[];
  secret?: string;
  json: boolean;
}

export type Event = ItemOf<"/v1/events">;

const POLL_MS = 1_000;
/** An event may appear behind newer ones, by the time that its transaction takes. */
const LOOK_BACK_MS = 60_000;
const ATTEMPT_MS = 15_000;

/** Finds new events in a list, newest first, that is read repeatedly. */
export class NewEvents {
  /** When those of LOOK_BACK_MS happened, by their ids. */
  readonly #seen = new Map<string, number>();
  #newestMs = Number.NEGATIVE_INFINITY;
  #isStarted = false;

  /**
   * Reads the latest events. A failed read changes nothing: the next one finds its events.
   * @returns the new events, oldest first; the first read returns none, since it only learns which events exist
   */
  async read(events: AsyncIterable<Event>): Promise<Event[]> {
    const found: Event[] = [];
    let newestMs = this.#newestMs;
    for await (const event of events) {
      const atMs = Date.parse(event.timestamp);
      if (atMs < (this.#isStarted ? this.#newestMs : newestMs) - LOOK_BACK_MS) break;
      if (!this.#seen.has(event.id)) found.push(event);
      newestMs = Math.max(newestMs, atMs);
    }
    for (const { id, timestamp } of found) this.#seen.set(id, Date.parse(timestamp));
    this.#newestMs = newestMs;
    for (const [id, atMs] of this.#seen) if (atMs < this.#newestMs - LOOK_BACK_MS) this.#seen.delete(id);
    const isNews = this.#isStarted;
    this.#isStarted = true;
    return isNews ? found.reverse() : [];
  }
}

/** @throws UsageError */
function readTarget(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new UsageError("--forward-to is not a URL, such as http://localhost:3000/hook");
}

/** @throws UsageError */
function readSecret(given: string | undefined): string {
  if (given === undefined) return newSigningSecret();
  if (/^whsec_[A-Za-z0-9+/]{8,}={0,2}$/.test(given)) return given;
  throw new UsageError("--secret is not the secret of a webhook: whsec_…");
}

/** Posts an event as a delivery of the service is. @returns how it was answered, in words */
async function forward(event: Event, url: string, secret: string, signal: AbortSignal): Promise<string> {
  const body = JSON.stringify(event);
  const signed = signatureHeaders({ id: event.id, timestampS: Math.floor(Date.now() / 1_000), body }, [
    secret,
  ]);
  const within = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]);
  const headers = { "Content-Type": "application/json", ...signed };
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: within });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    signal.throwIfAborted();
    const { cause, message } = error as Error;
    return `no answer: ${cause instanceof Error ? cause.message : message}`;
  }
}

/** True for a temporary failure: the next poll retries it. */
const mayPass = (error: unknown) =>
  error instanceof RcptError && (error.status === 0 || error.status === 429 || error.status >= 500);

/** New events, each when it is seen, without end. @throws RcptError that does not pass; the reason of `signal` */
async function* eventsOf(client: Client, signal: AbortSignal): AsyncGenerator<Event> {
  const news = new NewEvents();
  let isAway = false;
  for (;;) {
    try {
      yield* await news.read(client.paginate("/v1/events", { query: { limit: 100 }, signal }));
      if (isAway) process.stderr.write("rcpt: connected again\n");
      isAway = false;
    } catch (error) {
      if (!mayPass(error)) throw error;
      if (!isAway) process.stderr.write(`rcpt: ${printable((error as Error).message)} Trying again.\n`);
      isAway = true;
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Forwards events until it is interrupted. @returns the exit code, 0. @throws UsageError; RcptError */
export async function listen(options: ListenOptions): Promise<number> {
  const [url, secret] = [readTarget(options.forwardTo), readSecret(options.secret)];
  const { connect, withInterrupt } = await import("../service.ts");
  // A failed request is retried by the next poll.
  const client = connect({ maxAttempts: 1 });
  return withInterrupt(async (signal) => {
    if (options.secret === undefined) process.stderr.write(`signed with ${secret}\n`);
    process.stderr.write(`events go to ${url} until Ctrl-C\n`);
    try {
      for await (const event of eventsOf(client, signal)) {
        if (options.events?.some((type) => type === event.type) === false) continue;
        const answer = await forward(event, url, secret, signal);
        const line = `${event.timestamp} ${event.type} ${event.id} -> ${answer}`;
        process.stdout.write(options.json ? jsonLine({ ...event, answer }) : `${printable(line)}\n`);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return 0;
  });
}
