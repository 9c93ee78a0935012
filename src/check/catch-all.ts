import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { CatchAll, SmtpClass } from "./evidence.ts";

/**
 * Does a domain accept everybody? Asked with a random address, only after a real one was accepted, and **once per
 * domain and site**: whoever claims a key first asks the server and settles the answer; all others, in every thread,
 * wait for it. Answers live in this process and, through `CatchAllStore`, beyond it.
 */
export type CatchAllAnswer = Exclude<CatchAll, "not_probed">;

export interface CatchAllFacts {
  /** The settled answer, or `ask`: the caller must ask the server and then `settle`, whatever happens. */
  claim(key: string): Promise<CatchAllAnswer | "ask">;
  settle(key: string, answer: CatchAllAnswer): void;
}

/** Where answers outlive the process. Both never reject; an unreachable store knows nothing. */
export interface CatchAllStore {
  get(key: string): Promise<CatchAllAnswer | null>;
  put(key: string, answer: CatchAllAnswer, ttlS: number): void;
}

/** Seconds an answer is believed. What could not be asked is soon asked again. */
export const CATCH_ALL_TTL_S: Record<CatchAllAnswer, number> = {
  accepted: 12 * 3600,
  refused: 24 * 3600,
  inconclusive: 3600,
};

export function catchAllKey(domain: string, site: string): string {
  return `${domain}|${site}`;
}

/** A local part that nobody has: 80 random bits, letters first so that no rule about numbers applies. */
export function randomLocalPart(): string {
  return `q${BigInt(`0x${randomBytes(10).toString("hex")}`).toString(36)}`;
}

/** What the reply to the random address says. Only a refusal that is about the recipient counts as one. */
export function catchAllAnswer(randomReply: SmtpClass): CatchAllAnswer {
  switch (randomReply) {
    case "accepted":
    case "mailbox_full":
      return "accepted";
    case "mailbox_not_found":
    case "mailbox_disabled":
      return "refused";
    default:
      return "inconclusive";
  }
}

export function createCatchAllFacts(clock: Clock, store: CatchAllStore): CatchAllFacts {
  const known = new LRUCache<string, { answer: CatchAllAnswer; until: number }>({
    max: LIMITS.check.catchAllFacts,
  });
  const asking = new Map<string, ((answer: CatchAllAnswer) => void)[]>();

  function remember(key: string, answer: CatchAllAnswer): void {
    known.set(key, { answer, until: clock.monotonic() + CATCH_ALL_TTL_S[answer] * 1000 });
  }

  function wake(key: string, answer: CatchAllAnswer): void {
    const waiting = asking.get(key) ?? [];
    asking.delete(key);
    for (const resolve of waiting) resolve(answer);
  }

  return {
    async claim(key) {
      const fact = known.get(key);
      if (fact && fact.until > clock.monotonic()) return fact.answer;
      const others = asking.get(key);
      if (others) return new Promise((resolve) => others.push(resolve));
      asking.set(key, []);
      const stored = await store.get(key);
      if (stored === null) return "ask";
      remember(key, stored);
      wake(key, stored);
      return stored;
    },
    settle(key, answer) {
      remember(key, answer);
      store.put(key, answer, CATCH_ALL_TTL_S[answer]);
      wake(key, answer);
    },
  };
}
