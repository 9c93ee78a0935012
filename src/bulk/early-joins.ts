import { type Clock, sleep, type Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import type { GrantCheck } from "../services/bulk/grant-check.ts";
import type { JobEndings } from "../services/bulk/job-endings.ts";
import { newResultsKey } from "../store/job-objects.ts";
import { materialOf } from "../store/job-results.ts";
import { type ChunkTask, finalChunksOf } from "../store/job-tasks.ts";
import { activeJobsOf } from "../store/jobs.ts";
import type { JoinClaims } from "../store/join-claims.ts";
import type { ObjectStreams } from "../store/object-streams.ts";
import type { Database } from "../store/postgres.ts";
import { type Control, createControl, Interruption } from "./control.ts";
import { createFinalChunks } from "./final-chunks.ts";
import { createFreshChunks, type FreshChunk, type FreshChunks } from "./fresh-chunks.ts";
import { createJoinPace, type JoinPace } from "./join-pace.ts";
import type { JoinThread } from "./join-thread.ts";

export interface EarlyJoinsDeps {
  sql: Database;
  joinThread: JoinThread;
  granted: GrantCheck;
  /** Of somebody else's bucket: whatever is wrong with it is found out by the assembly. */
  readRange: ObjectStreams["readRange"];
  endings: JobEndings;
  claims: JoinClaims;
  clock: Clock;
  log: Logger;
  /** Those of a process, where not said. */
  bounds?: EarlyBounds;
}

/** LIMITS.bulk.early says what each is. */
export interface EarlyBounds {
  rows: number;
  atOnce: number;
  page: number;
  freshBytes: number;
  behindBytes: number;
  behindMs: number;
  pollMs: number;
  pollShare: number;
  pollMaxMs: number;
  patienceMs: number;
  claimMs: number;
  givenUpMs: number;
  begins: number;
  renewMs: number;
  awaitMs: number;
  awaitElsewhereMs: number;
  remembered: number;
}

/**
 * Puts the results of long jobs together while their chunks are under way: in input order, each chunk once it is final, so
 * that little is left to do behind the last. When all rows are written the job is completed with them, as by its assembly,
 * whoever comes first. What goes wrong, or takes too long to become final, is left to the assembly, which does it all; so this
 * may give up at any time. One process at a time does it for a job.
 */
export interface EarlyJoins {
  /** A chunk of the job is worked on here: its results may be begun, once. Returns at once, never fails. */
  offer(task: Pick<ChunkTask, "jobId" | "teamId" | "jobRows">): void;
  /** When the next chunk of the job may begin, for the sake of the join that goes on here; null: at once. Never rejects. */
  turn(jobId: string): Promise<void> | null;
  /** What is in memory of a chunk of the job, which is written and not yet done. The buffers are the join's from here on. */
  hand(jobId: string, chunk: FreshChunk): void;
  /** Rows of the job were answered here: a chunk may have become final. */
  note(jobId: string): void;
  /**
   * The job's assembly is due: waits while somebody has its results under way, here or elsewhere, no longer than
   * LIMITS.bulk.early has it for either. The job may have ended then.
   * @throws Interruption when `control` is cancelled
   */
  settled(jobId: string, control: Control): Promise<void>;
  /** Begins none any more; resolves when those under way have given up. Idempotent. */
  close(): Promise<void>;
}

interface Early {
  control: Control;
  readonly fresh: FreshChunks;
  readonly pace: JoinPace;
  wake(): void;
  ended: Promise<void>;
}

export function createEarlyJoins(deps: EarlyJoinsDeps): EarlyJoins {
  const { sql, joinThread, granted, readRange, endings, claims, clock, log } = deps;
  const bounds: EarlyBounds = deps.bounds ?? LIMITS.bulk.early;
  const underWay = new Map<string, Early>();
  /** Begun before: what was given up is not begun again. In the order in which they came. */
  const known = new Set<string>();
  let closed = false;

  function remember(jobId: string): void {
    known.add(jobId);
    for (const oldest of known) {
      if (known.size <= bounds.remembered) break;
      known.delete(oldest);
    }
  }

  /** What cannot be asked now is asked again soon. */
  async function isWanted(jobId: string): Promise<boolean> {
    const kept = claims.renew(jobId, bounds.claimMs).catch(() => true);
    const active = activeJobsOf(sql, [jobId]).then(
      (jobs) => jobs.has(jobId),
      () => true,
    );
    return (await kept) && (await active);
  }

  /** Renews the claim until told to stop. A claim that is lost ends the join, and so does the job's end: it may ask for no more chunks. */
  function keepClaim(jobId: string, control: Control): () => void {
    let stopped = false;
    let timer: Timer;
    const schedule = () => {
      timer = clock.after(bounds.renewMs, async () => {
        if (!(await isWanted(jobId))) control.cancel();
        if (!stopped) schedule();
      });
    };
    schedule();
    return () => {
      stopped = true;
      timer.cancel();
    };
  }

  async function join(jobId: string, teamId: string, control: Control, early: Early): Promise<void> {
    const material = await materialOf(sql, jobId);
    if (material === null) return;
    const chunks = createFinalChunks({
      readFinalChunks: (id, after, limit) => finalChunksOf(sql, id, after, limit),
      clock,
      signal: control.signal,
      bounds,
      onWait: early.pace.setWaiting,
    });
    early.wake = chunks.wake;
    const resultsKey = newResultsKey(teamId, jobId);
    const sources = { chunksOf: chunks.chunksOf, granted, readRange, fresh: early.fresh };
    await joinThread.write(material, resultsKey, sources, control.signal);
    await endings.endAlone(sql, teamId, jobId, { status: "completed", resultsKey });
  }

  /** What others may make of the job: all when this process goes, nothing when it would come to nothing again. */
  async function letGo(jobId: string, isGivenUp: boolean): Promise<void> {
    const told = isGivenUp && !closed ? claims.giveUp(jobId, bounds.givenUpMs) : claims.release(jobId);
    await told.catch((error: unknown) => log.debug({ err: error, job: jobId }, "a claim was not let go"));
  }

  async function work(jobId: string, teamId: string, control: Control, early: Early): Promise<void> {
    const stopRenewing = keepClaim(jobId, control);
    let isGivenUp = true;
    try {
      await join(jobId, teamId, control, early);
      isGivenUp = false;
    } catch (error) {
      if (error instanceof Interruption) log.debug({ err: error, job: jobId }, "an early join was given up");
      else log.warn({ err: error, job: jobId }, "an early join failed: the results are left to the assembly");
    } finally {
      stopRenewing();
      // Whoever asks for chunks still, for a thread that is no more, stops.
      control.cancel();
      early.fresh.close();
      await letGo(jobId, isGivenUp);
    }
  }

  /** Never rejects. */
  async function run(jobId: string, teamId: string, control: Control, early: Early): Promise<void> {
    try {
      if (!(await claims.claim(jobId, bounds.claimMs, bounds))) return;
    } catch (error) {
      return log.debug({ err: error, job: jobId }, "a job was not claimed for an early join");
    }
    remember(jobId);
    await work(jobId, teamId, control, early);
  }

  /** Waits while another process has the job, as far as Redis tells. */
  async function settledElsewhere(jobId: string, control: Control): Promise<void> {
    const sinceMs = clock.monotonic();
    while (clock.monotonic() - sinceMs < bounds.awaitElsewhereMs) {
      control.signal.throwIfAborted();
      if (!(await claims.isClaimed(jobId).catch(() => false))) return;
      await sleep(clock, bounds.pollMs);
    }
  }

  return {
    offer({ jobId, teamId, jobRows }) {
      if (closed || jobRows < bounds.rows || underWay.size >= bounds.atOnce) return;
      if (known.has(jobId) || underWay.has(jobId)) return;
      const fresh: FreshChunks = createFreshChunks(bounds.freshBytes, () => pace.onTaken());
      const pace = createJoinPace({ heldBytes: () => fresh.heldBytes, clock, bounds });
      const early: Early = {
        control: createControl(),
        fresh,
        pace,
        wake: () => {},
        ended: Promise.resolve(),
      };
      underWay.set(jobId, early);
      early.ended = run(jobId, teamId, early.control, early).finally(() => {
        pace.close();
        underWay.delete(jobId);
      });
    },
    turn: (jobId) => underWay.get(jobId)?.pace.whenAllowed() ?? null,
    hand: (jobId, chunk) => underWay.get(jobId)?.fresh.add(chunk),
    note: (jobId) => underWay.get(jobId)?.wake(),
    async settled(jobId, control) {
      const here = underWay.get(jobId);
      if (here === undefined) return settledElsewhere(jobId, control);
      here.wake();
      await new Promise<void>((resolve, reject) => {
        const timer = clock.after(bounds.awaitMs, resolve);
        control.onCancel(() => reject(control.signal.reason as Error));
        void here.ended.then(resolve).finally(() => timer.cancel());
      });
    },
    async close() {
      closed = true;
      for (const { control } of underWay.values()) control.cancel();
      await Promise.all([...underWay.values()].map(({ ended }) => ended));
    },
  };
}
