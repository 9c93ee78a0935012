import { LIMITS } from "../../config/limits/limits.ts";
import type { SessionEnd } from "../wire/handshake.ts";
import { extractServerText } from "../wire/server-text.ts";
import type { TransactionEnd } from "./batch.ts";

/**
 * `421 4.7.0 mx.example.com Error: too many connections from 192.0.2.1` (Postfix), `421 Too many concurrent SMTP
 * connections; please try again later.` (Exim), `421 4.3.2 The maximum number of concurrent server connections has
 * exceeded a limit` (Exchange), `450 Concurrent connection limit exceeded`.
 */
const CONNECTIONS =
  /\btoo many(?: \w+){0,4} (?:connections|sessions)\b|\bconcurrent(?: \w+){0,3} (?:connections?|sessions?)\b|\b(?:connections?|sessions?)(?: \w+){0,2} (?:limit|exceed)|\bmaximum number of(?: \w+){0,3} (?:connections|sessions)\b/i;

/** A failed opening beside working sessions that may mean the server, or a filter in front of it, limits connections. */
export function mayBeCrowded(end: SessionEnd): boolean {
  if (end.kind === "reply") return end.stage === "greeting" && end.reply.code === 421;
  if (end.stage !== "connect" && end.stage !== "greeting") return false;
  return end.cause === "refused" || end.cause === "closed" || end.cause === "timeout";
}

/**
 * The server's words say that too many connections are open. After an address was sent, only a temporary refusal counts: a
 * permanent one is about the recipient, and its words may quote the address.
 */
export function saysCrowded(end: SessionEnd | TransactionEnd): boolean {
  if (end.kind !== "reply" || end.reply.code < 400) return false;
  if (end.reply.code >= 500 && (end.stage === "mail" || end.stage === "rcpt")) return false;
  return CONNECTIONS.test(extractServerText(end.reply));
}

/** A host that refuses openings for too many connections while no session works there. */
export class RefusedOpenings {
  #since: number | null = null;
  #end: SessionEnd | null = null;
  #takeOvers = 0;

  /** The end of the last refused opening; null: a session has worked since. */
  get end(): SessionEnd | null {
    return this.#end;
  }

  /** @returns for how long it has refused, in ms; null: for too long, it is given up */
  add(end: SessionEnd, now: number): number | null {
    this.#since ??= now;
    const sinceMs = now - this.#since;
    if (sinceMs >= LIMITS.learned.crowdedPatienceMs) return null;
    this.#end = end;
    return sinceMs;
  }

  /**
   * Counts one connection that is to be taken over from another thread.
   * @returns false after `LIMITS.learned.crowdedTakeOvers`: others have all that the server allows
   */
  countTakeOver(): boolean {
    this.#takeOvers++;
    return this.#takeOvers <= LIMITS.learned.crowdedTakeOvers;
  }

  /** A session works. */
  forget(): void {
    this.#since = null;
    this.#end = null;
    this.#takeOvers = 0;
  }
}
