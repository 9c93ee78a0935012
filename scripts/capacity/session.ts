import { isNearlyExhausted, isSetUpExpensive } from "../../src/smtp/session/session-limits.ts";
import type { SiteClass } from "./scenario.ts";

/** Averages of one session. */
export interface SessionShape {
  transactions: number;
  /** Number of writes; each is a round trip where the server pipelines. */
  writes: number;
}

/** States with a lower probability are ignored. */
const LEAST = 1e-7;

/** The decision of `smtp/session/pooled-session` while enough rows wait; learned limits of a site are ignored. */
export function shouldRetire(
  site: Pick<SiteClass, "rejectionsPerSession" | "setUpRoundTrips" | "pipelining">,
  { served, refused }: { served: number; refused: number },
  depth: number,
): boolean {
  if (!site.pipelining || isSetUpExpensive(site.setUpRoundTrips, 1, served, refused)) return false;
  return isNearlyExhausted(refused, site.rejectionsPerSession, depth);
}

/** The fields that determine how long a session lasts. */
type SessionSite = Pick<
  SiteClass,
  "depth" | "transactionsPerSession" | "rejectionsPerSession" | "pipelining" | "setUpRoundTrips"
>;

/**
 * A session as `smtp/session/pooled-session` fills it. A write has at most `depth` recipients, and no more than may
 * follow before a limit of the session is met even if all are refused. A nearly exhausted session ends early. Exact
 * over all sequences of refusals, provided that enough rows wait.
 *
 * @param refusing probability that a transaction ends in a refusal of any kind
 */
export function sessionShape(site: SessionSite, refusing: number): SessionShape {
  const { transactionsPerSession, rejectionsPerSession } = site;
  const depth = site.pipelining ? site.depth : 1;
  let writes = 0;
  let transactions = 0;
  /** Probability of each state of a session. A key is `served * (rejectionsPerSession + 1) + refused`. */
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
