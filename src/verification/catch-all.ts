import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { LIMITS } from "../config/limits/limits.ts";
import { upTo } from "../platform/lru.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { CatchAll, SmtpClass } from "./evidence.ts";

/**
 * Does a host accept every address at a domain? Asked with a random local part, only after a real address was accepted
 * there, and **once per domain and host**: the first check that claims a key asks the server and settles the answer; all
 * others, in every thread, wait for it. A backup MX often accepts addresses that its primary would refuse, hence the host
 * in the key.
 *
 * A settled answer is kept in this process and, by `CatchAllStore`, beyond it. An inconclusive answer is soon asked for
 * again and stays here. A failure of our own is forgotten at once.
 */
export type CatchAllAnswer = Exclude<CatchAll, "not_probed">;
/** Answers that are stored beyond the process. */
export type CatchAllFact = Exclude<CatchAllAnswer, "inconclusive" | "put_off">;

export interface CatchAllFacts {
  /** The settled answer, if it is known in this process; undefined: `claim` finds out. */
  known(key: string): CatchAllAnswer | undefined;
  /**
   * The settled answer; `not_probed` when the check that asked gave up; or `ask`: the caller must ask the server and then
   * `settle` or `abandon` in any case.
   */
  claim(key: string): Promise<CatchAll | "ask">;
  /** @param retryAfterS of a deferred answer: the delay that the server named */
  settle(key: string, answer: CatchAllAnswer, retryAfterS: number | null): void;
  /** We could not ask, for reasons of our own. Those that wait get `not_probed`; nothing is remembered. */
  abandon(key: string): void;
}

/** Store of answers beyond the process. Neither method rejects; an unreachable store has no answers. */
export interface CatchAllStore {
  /** With the seconds it may still be believed. */
  get(key: string): Promise<{ answer: CatchAllFact; ttlS: number } | null>;
  put(key: string, answer: CatchAllFact, ttlS: number): void;
}

/** Seconds an answer is believed. */
const TTL_S: Record<CatchAllAnswer, number> = {
  accepted: 12 * 3600,
  refused: 24 * 3600,
  inconclusive: 300,
  // Asked again with the next address: once in so long, however many addresses of the domain wait for it.
  put_off: 5,
};
/** Longest that a named delay is respected. */
const PUT_OFF_MAX_S = 300;

/** True for an answer that is stored beyond the process. */
export function isLastingCatchAllAnswer(answer: CatchAll): answer is CatchAllFact {
  return answer === "accepted" || answer === "refused";
}

const WEEK_MS = 7 * 86_400_000;

export function catchAllKey(domain: string, site: string, host: string): string {
  return `${domain}|${site}|${host}`;
}

/** The parts of a key: domains and sites contain no bar. */
export function parseCatchAllKey(key: string): { site: string; domain: string } {
  const [domain = "", site = ""] = key.split("|");
  return { site, domain };
}

/**
 * A random local part that no mailbox has: 80 bits, a letter first so that no rule about numbers applies. The same for a
 * domain all week: a server that greylists must meet the same recipient again, or it would never answer.
 *
 * @param salt differs from that of other deployments, so that no server can prepare for the local parts of this one
 */
export function catchAllLocalPart(domain: string, epochMs: number, salt: string): string {
  const week = Math.floor(epochMs / WEEK_MS);
  const digest = createHash("sha256").update(`${salt}\n${domain}\n${week}`).digest("hex");
  return `q${BigInt(`0x${digest.slice(0, 20)}`).toString(36)}`;
}

/**
 * The meaning of a reply to the catch-all probe. Only a refusal about the recipient counts as a refusal.
 * @param temporary the server asks for a retry
 */
export function catchAllAnswerOf(reply: SmtpClass, temporary: boolean): CatchAllAnswer {
  switch (reply) {
    case "accepted":
    case "mailbox_full":
      return "accepted";
    case "mailbox_not_found":
    case "mailbox_disabled":
      return "refused";
    default:
      return temporary ? "put_off" : "inconclusive";
  }
}

export function createCatchAllFacts(clock: Clock, store: CatchAllStore): CatchAllFacts {
  const known = new LRUCache<string, { answer: CatchAllAnswer; until: number }>(
    upTo(LIMITS.check.catchAllFacts),
  );
  const asking = new Map<string, ((answer: CatchAll) => void)[]>();

  function remember(key: string, answer: CatchAllAnswer, ttlS: number): void {
    known.set(key, { answer, until: clock.monotonic() + ttlS * 1000 });
  }

  function wake(key: string, answer: CatchAll): void {
    const waiting = asking.get(key) ?? [];
    asking.delete(key);
    for (const resolve of waiting) resolve(answer);
  }

  function settled(key: string): CatchAllAnswer | undefined {
    const fact = known.get(key);
    return fact && fact.until > clock.monotonic() ? fact.answer : undefined;
  }

  return {
    known: settled,
    async claim(key) {
      const fact = settled(key);
      if (fact !== undefined) return fact;
      const others = asking.get(key);
      if (others) return new Promise((resolve) => others.push(resolve));
      asking.set(key, []);
      const stored = await store.get(key);
      if (stored === null) return "ask";
      remember(key, stored.answer, stored.ttlS);
      wake(key, stored.answer);
      return stored.answer;
    },
    settle(key, answer, retryAfterS) {
      // A probe that comes again after the delay that the server named finds no older answer.
      const isNamed = answer === "put_off" && retryAfterS !== null;
      remember(key, answer, isNamed ? Math.min(PUT_OFF_MAX_S, retryAfterS) : TTL_S[answer]);
      if (isLastingCatchAllAnswer(answer)) store.put(key, answer, TTL_S[answer]);
      wake(key, answer);
    },
    abandon: (key) => wake(key, "not_probed"),
  };
}
