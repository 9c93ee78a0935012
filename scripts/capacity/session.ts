import { isNearlyExhausted, isSetUpExpensive } from "../../src/smtp/session/session-limits.ts";
import type { SiteClass } from "./scenario.ts";

/** What one session comes to, on average. */
export interface SessionShape {
  transactions: number;
  /** Writes, which are round trips where the server pipelines. */
  writes: number;
}

/** Less likely states are left out. */
const LEAST = 1e-7;

/** As `smtp/session/pooled-session` does where enough waits; what a site would teach is left out. */
export function shouldRetire(
  site: Pick<SiteClass, "rejectionsPerSession" | "setUpRoundTrips" | "pipelining">,
  { served, refused }: { served: number; refused: number },
  depth: number,
): boolean {
  if (!site.pipelining || isSetUpExpensive(site.setUpRoundTrips, 1, served, refused)) return false;
  return isNearlyExhausted(refused, site.rejectionsPerSession, depth);
}

/** What decides how long a session is. */
type SessionSite = Pick<
  SiteClass,
  "depth" | "transactionsPerSession" | "rejectionsPerSession" | "pipelining" | "setUpRoundTrips"
>;

/**
 * A session as `smtp/session/pooled-session` fills it: a write holds no more than the depth, nor more than may follow before a limit of
 * the session is met, also if all were refused; one that is worn leaves. Exact, over all courses that refusals can take, where
 * enough waits for further ones.
 *
 * @param refusing likelihood that a transaction ends in a refusal, of any kind
 */
export function sessionShape(site: SessionSite, refusing: number): SessionShape {
  const { transactionsPerSession, rejectionsPerSession } = site;
  const depth = site.pipelining ? site.depth : 1;
  let writes = 0;
  let transactions = 0;
  /** Likelihood of having served so many and been refused so often: `served * (rejectionsPerSession + 1) + refused`. */
  let states = new Map<number, number>([[0, 1]]);
  const width = rejectionsPerSession + 1;
  while (states.size > 0) {
    const next = new Map<number, number>();
    for (const [state, likelihood] of states) {
      const served = Math.floor(state / width);
      const refused = state % width;
      const room = Math.min(depth, transactionsPerSession - served, rejectionsPerSession - refused);
      if (room <= 0 || likelihood < LEAST || shouldRetire(site, { served, refused }, depth)) continue;
      writes += likelihood;
      transactions += likelihood * room;
      spread(next, { likelihood, refusing, room, from: (served + room) * width + refused });
    }
    states = next;
  }
  return { transactions, writes };
}

/** Adds what a write of `room` transactions leads to, by how many of them are refused. */
function spread(
  next: Map<number, number>,
  { likelihood, refusing, room, from }: { likelihood: number; refusing: number; room: number; from: number },
): void {
  let ways = 1;
  for (let more = 0; more <= room; more++) {
    const part = likelihood * ways * refusing ** more * (1 - refusing) ** (room - more);
    if (part > 0) next.set(from + more, (next.get(from + more) ?? 0) + part);
    ways = (ways * (room - more)) / (more + 1);
  }
}
