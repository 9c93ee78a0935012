import type { MessagePort } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { LIMITS } from "../core/limits.ts";
import type { SlotSource } from "../smtp/slots.ts";
import type { BehaviourReport, BehaviourUpdate } from "./belief/messages.ts";
import type { BehaviourPort } from "./belief/mirror.ts";
import type { BreakerReport, BreakerUpdate } from "./breaker/messages.ts";
import type { BreakerPort } from "./breaker/mirror.ts";
import {
  type CatchAllAnswer,
  type CatchAllFact,
  type CatchAllFacts,
  isLastingCatchAllAnswer,
} from "./catch-all.ts";
import type { RouteTrust } from "./engine.ts";
import type { CatchAll } from "./evidence.ts";
import type { SelfCheckUpdate } from "./house/report.ts";
import { MessageBatcher, receiveBatches } from "./message-batcher.ts";
import type { NetworkReports, ReportedDial } from "./network-health.ts";
import type { SilentDial } from "./route-health.ts";
import type { ThreadReport } from "./thread-counts.ts";

/**
 * The line between a check thread and the main thread: small messages about connections and domains, never one per
 * address in the common case. The main thread's end is `broker.ts`.
 *
 * Slots and catch-all answers are kept by the main thread because a queue of waiters there is fair (first come,
 * first served over all threads) and because one place can lease from other processes. A connection serves many
 * addresses, so a message a connection costs nothing that can be measured.
 */
export type ThreadMessage =
  | { type: "acquire"; id: number; site: string; max: number; waitMs: number }
  | { type: "release"; site: string }
  | { type: "foresee"; key: string }
  | { type: "crowded"; site: string }
  | { type: "claim"; id: number; key: string }
  | { type: "settle"; key: string; answer: CatchAllAnswer; retryAfterS: number | null }
  | { type: "abandon"; key: string }
  | { type: "silent"; dial: SilentDial }
  | { type: "failed"; dial: ReportedDial }
  | { type: "candidate"; address: string }
  | { type: "reached"; dial: ReportedDial }
  | { type: "counts"; report: ThreadReport }
  | BreakerReport
  | BehaviourReport
  | { type: "drained" };

export type MainMessage =
  | { type: "granted"; id: number; granted: boolean }
  | { type: "fact"; id: number; answer: CatchAll | "ask" }
  | { type: "wanted"; site: string; soon: boolean }
  | { type: "breaker"; news: BreakerUpdate }
  | { type: "belief"; news: BehaviourUpdate }
  | { type: "house"; news: SelfCheckUpdate }
  | { type: "drain" };

/** What a thread posts on its parent port to hand over its end of the line. */
export interface AttachMessage {
  type: "rcpt.attach";
  port: MessagePort;
}

export interface ThreadLink {
  slots: SlotSource;
  /** Too many connections are open to `site`, a key of slots: told at most once in `LIMITS.learnt.crowdedEveryMs`. */
  reportCrowded(site: string): void;
  facts: CatchAllFacts;
  reach: NetworkReports;
  breaker: BreakerPort;
  behaviours: BehaviourPort;
  /** What the last `house` message said of each way. */
  routeTrust: RouteTrust;
  /** What mail servers take for our address on a way, as far as preflight knows. */
  seenAs(path: string): string | null;
  sendCounts(report: ThreadReport): void;
  /** Runs `drain` when the main thread asks, then tells it that all is given back. */
  onDrain(drain: () => Promise<void>): void;
}

export function createThreadLink(port: MessagePort): ThreadLink {
  let nextId = 0;
  const grants = new Map<number, (granted: boolean) => void>();
  const claims = new Map<number, (answer: CatchAll | "ask") => void>();
  const crowded = new LRUCache<string, true>({
    max: LIMITS.learned.sites,
    ttl: LIMITS.learned.crowdedEveryMs,
  });
  const recent = new LRUCache<string, CatchAllFact>({
    max: LIMITS.check.catchAllPerThread,
    ttl: LIMITS.check.catchAllPerThreadMs,
  });
  /** Who waits here for what another check of this thread has claimed: one message a question, not one an address. */
  const waiting = new Map<string, ((answer: CatchAll) => void)[]>();
  let house: SelfCheckUpdate = { distrusted: [], seenAs: {} };
  let wanted: (site: string, soon: boolean) => void = () => {};
  let heard: (news: BreakerUpdate) => void = () => {};
  let learnt: (news: BehaviourUpdate) => void = () => {};
  let drain: () => Promise<void> = async () => {};
  const mailbag = new MessageBatcher<ThreadMessage>(port);
  const post = (message: ThreadMessage) => mailbag.send(message);
  const postLater = (message: ThreadMessage) => mailbag.sendLater(message);

  receiveBatches(port, (message: MainMessage) => {
    switch (message.type) {
      case "granted":
        grants.get(message.id)?.(message.granted);
        grants.delete(message.id);
        break;
      case "fact":
        claims.get(message.id)?.(message.answer);
        claims.delete(message.id);
        break;
      case "wanted":
        wanted(message.site, message.soon);
        break;
      case "breaker":
        heard(message.news);
        break;
      case "belief":
        learnt(message.news);
        break;
      case "house":
        house = message.news;
        break;
      case "drain":
        void drain().finally(() => post({ type: "drained" }));
        break;
    }
  });

  function wake(key: string, answer: CatchAll): void {
    const others = waiting.get(key) ?? [];
    waiting.delete(key);
    if (isLastingCatchAllAnswer(answer)) recent.set(key, answer);
    for (const resolve of others) resolve(answer);
  }

  return {
    slots: {
      acquire(site, max, waitMs) {
        const id = nextId++;
        post({ type: "acquire", id, site, max, waitMs });
        return new Promise((resolve) => grants.set(id, resolve));
      },
      release: (site) => post({ type: "release", site }),
      onWanted(listener) {
        wanted = listener;
      },
    },
    reportCrowded(site) {
      if (crowded.get(site)) return;
      crowded.set(site, true);
      post({ type: "crowded", site });
    },
    facts: {
      known: (key) => recent.get(key),
      prefetch(key) {
        if (!recent.has(key) && waiting.get(key) === undefined) post({ type: "foresee", key });
      },
      async claim(key) {
        const answer = recent.get(key);
        if (answer !== undefined) return answer;
        const others = waiting.get(key);
        if (others !== undefined) return new Promise((resolve) => others.push(resolve));
        waiting.set(key, []);
        const id = nextId++;
        post({ type: "claim", id, key });
        const fact = await new Promise<CatchAll | "ask">((resolve) => claims.set(id, resolve));
        if (fact !== "ask") wake(key, fact);
        return fact;
      },
      settle(key, answer, retryAfterS) {
        post({ type: "settle", key, answer, retryAfterS });
        wake(key, answer);
      },
      abandon(key) {
        post({ type: "abandon", key });
        wake(key, "not_probed");
      },
    },
    reach: {
      onSilent: (dial) => post({ type: "silent", dial }),
      onFailed: (dial) => post({ type: "failed", dial }),
      addCandidate: (address) => post({ type: "candidate", address }),
      onReached: (dial) => postLater({ type: "reached", dial }),
    },
    routeTrust: { trusts: (path) => !house.distrusted.includes(path) },
    seenAs: (path) => house.seenAs[path] ?? null,
    behaviours: {
      report: post,
      reportLater: postLater,
      listen(listener) {
        learnt = listener;
      },
    },
    breaker: {
      report: post,
      listen(listener) {
        heard = listener;
      },
    },
    sendCounts: (report) => postLater({ type: "counts", report }),
    onDrain(action) {
      drain = action;
    },
  };
}
