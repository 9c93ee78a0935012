import type { PendingBatch } from "../../src/engine/threads/pool.ts";
import type { BatchMode, CheckOutcome } from "../../src/engine/threads/thread-tasks.ts";
import type { AddressQuestion } from "../../src/features/verify/answer/address-question.ts";
import {
  type BatchAnswer,
  type BatchOptions,
  createBatchExaminer,
} from "../../src/features/verify/batch/examine-batch.ts";
import type { CacheEntry } from "../../src/features/verify/cache/cache-entry.ts";
import type { CacheWrite } from "../../src/features/verify/cache/evidence-cache.ts";
import { AppError } from "../../src/platform/errors.ts";
import { parseAddress } from "../../src/verification/address/address.ts";
import { evidenceWith } from "./evidence.ts";
import { createFakeClock } from "./fake-clock.ts";
import { silentLog } from "./store.ts";

export const EVIDENCE = evidenceWith({
  mx: { status: "no_mx", hosts: [], provider: null, ttlS: 60, fault: "recipient" },
});
/** Runs callbacks that are due: one tick of the event loop. */
export const rest = () => new Promise((resolve) => setImmediate(resolve));
const CONTENT: BatchOptions = { refresh: () => false, waitsForSite: false };

export function question(email: string, over: Partial<AddressQuestion> = {}): AddressQuestion {
  const parsed = parseAddress(email);
  const address = parsed.ok ? parsed.address : null;
  const rest = { withEvidence: false, blocked: false, overridden: false, scope: "probed" } as const;
  return { teamId: "team_1", email, address, unwrapped: false, malformed: null, ...rest, ...over };
}

export interface Sent extends PendingBatch {
  addresses: string[];
  mode: BatchMode;
  atOnce: number | undefined;
  remaining: number;
  halts: string[];
  answer(lines: CheckOutcome[]): void;
  die(): void;
}

export function entryOf(storedAt = 0): CacheEntry {
  return { evidence: EVIDENCE, storedAt, ttlS: 60 };
}

/** An examiner whose pool does what the test says; `react` may answer a batch as it comes. */
export function createBatchWorld(react: (sent: Sent) => void = () => {}) {
  const clock = createFakeClock();
  const sent: Sent[] = [];
  const memory = new Map<string, CacheEntry>();
  const redis = new Map<string, CacheEntry>();
  const seen = {
    fetches: [] as number[],
    deposits: [] as CacheWrite[],
    writes: 0,
    lookups: [] as string[],
  };
  let overloads = 0;
  let closed = false;
  const batches = createBatchExaminer({
    clock,
    log: silentLog,
    lists: {
      disposable: (domain) => ({ listed: domain.endsWith("listed.test"), source: "builtin" }),
      role: (local) => (local === "info" ? local : null),
      isFree: () => false,
    },
    keep: () => ({ ttlS: 60, shared: true }),
    signals: { spf: true, dmarc: true },
    onLookup: (result, count) => seen.lookups.push(...new Array<string>(count).fill(result)),
    cache: {
      peek: (_, key) => memory.get(key),
      async fetchMany(keys) {
        seen.fetches.push(keys.length);
        return keys.map(({ cacheKey }) => redis.get(cacheKey));
      },
      storeMany(deposits) {
        seen.writes += 1;
        seen.deposits.push(...deposits);
      },
    },
    pool: {
      checkBatch(addresses, _scope, mode, atOnce) {
        if (closed) throw new AppError("unavailable", "closed");
        if (overloads > 0) {
          overloads -= 1;
          throw new AppError("overloaded", "full");
        }
        let answer: Sent["answer"] = () => {};
        let die: Sent["die"] = () => {};
        const lines = new Promise<CheckOutcome[]>((resolve, reject) => {
          answer = resolve;
          die = () => reject(new Error("the thread exited"));
        });
        const halts: string[] = [];
        const batch: Sent = {
          outcomes: lines,
          answer,
          die,
          halts,
          mode,
          atOnce,
          addresses: [...addresses],
          remaining: addresses.length,
          finishEarly: () => halts.push("in"),
          cancel: () => halts.push("off"),
        };
        sent.push(batch);
        react(batch);
        return batch;
      },
    },
  });
  const controls = { cancel: () => {}, cancelled: false };
  const examine = (questions: AddressQuestion[], options = CONTENT) =>
    batches.examine(questions, options, {
      cancelled: () => controls.cancelled,
      onCancel(callback) {
        controls.cancel = callback;
      },
    });
  const overload = (times: number) => {
    overloads = times;
  };
  const close = () => {
    closed = true;
  };
  const ready = batches.ready.bind(batches);
  return { clock, sent, memory, redis, seen, examine, ready, controls, overload, close };
}

/** One text per answer: `cached`, `fresh`, `none`, the failure, or the cause of the deferral with its site. */
export function shown(answers: BatchAnswer[]): string[] {
  return answers.map(({ finding, deferred }) => {
    if (deferred) return `${deferred.cause} ${deferred.site}`.trim();
    if (finding.entry === null) return finding.failure ?? "none";
    return finding.cached ? "cached" : "fresh";
  });
}
