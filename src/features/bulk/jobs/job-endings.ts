import type { EventType } from "../../../config/events.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Database, Transaction } from "../../../stores/postgres/postgres.ts";
import { settleHold } from "../../quota/quota-holds.ts";
import { addUsage } from "../../usage/usage-sql.ts";
import { recordEvent } from "../../webhooks/outbox.ts";
import { endJob, type JobEnding, type JobRow, type JobStatus, lockJob, shareLockTeam } from "./job-sql.ts";
import { renderJob, type ViewSettings } from "./job-view.ts";

const EVENTS: Record<JobEnding["status"], EventType> = {
  completed: "bulk.completed",
  failed: "bulk.failed",
  cancelled: "bulk.cancelled",
};

const ACTIVE: ReadonlySet<JobStatus> = new Set([
  "queued",
  "analyzing",
  "processing",
  "deferred",
  "finalizing",
]);

/** Whether a job that was locked may still end, and how. */
export function isActive(status: JobStatus): boolean {
  return ACTIVE.has(status);
}

/** The ends of jobs: state, charge, counters and the event are one transaction. */
export interface JobEndings {
  /**
   * Ends a job of the team in the caller's transaction, which must not hold a lock of the team's rows yet. The cost of its
   * finished chunks is charged, and the rest of its hold is given back. A failed job costs nothing, unless
   * `ending.charges`.
   * @returns the ended job; its status when it had ended before; null when the team has no such job
   */
  end(tx: Transaction, teamId: string, jobId: string, ending: JobEnding): Promise<EndedJob>;
  /** To be called by the caller of `end` once its transaction has committed. */
  committed(ended: EndedJob): void;
  /** Both, in a transaction of its own. */
  endAlone(sql: Database, teamId: string, jobId: string, ending: JobEnding): Promise<EndedJob>;
}

export type EndedJob = JobRow | JobStatus | null;

export interface JobEndingsDeps {
  clock: Clock;
  view: ViewSettings;
  /**
   * Called once for each job that ended, when its end is certain: not if the response to the commit was lost. Must not
   * throw. Absent: there is no callback.
   */
  onEnded?(job: JobRow): void;
}

export function createJobEndings(deps: JobEndingsDeps): JobEndings {
  async function charge(tx: Transaction, job: JobRow, ending: JobEnding): Promise<void> {
    if (job.day === null) return;
    const { valid, invalid, risky, unknown } = job;
    if (ending.status !== "failed" || ending.charges) {
      const bulk = valid + invalid + risky + unknown;
      const counts = { single: 0, bulk, cached: 0, valid, invalid, risky, unknown };
      await addUsage(tx, [{ teamId: job.team_id, day: job.day, ...counts }]);
    }
    await settleHold(tx, job.id, job.charged);
  }

  async function recordEndEvent(tx: Transaction, job: JobRow, type: EventType): Promise<void> {
    await recordEvent(tx, {
      teamId: job.team_id,
      type,
      livemode: job.livemode,
      data: { ...renderJob(job, deps.view, deps.clock.now()) },
      ...(job.webhook_url === null ? {} : { extraUrl: job.webhook_url }),
    });
  }

  async function end(tx: Transaction, teamId: string, jobId: string, ending: JobEnding): Promise<EndedJob> {
    if (!(await shareLockTeam(tx, teamId))) return null;
    const status = await lockJob(tx, teamId, jobId);
    if (status === null || !isActive(status)) return status;
    const job = await endJob(tx, jobId, ending);
    await charge(tx, job, ending);
    await recordEndEvent(tx, job, EVENTS[ending.status]);
    return job;
  }

  function committed(ended: EndedJob): void {
    if (ended !== null && typeof ended !== "string") deps.onEnded?.(ended);
  }

  return {
    end,
    committed,
    async endAlone(sql, teamId, jobId, ending) {
      const ended = await sql.begin((tx) => end(tx, teamId, jobId, ending), teamId);
      committed(ended);
      return ended;
    },
  };
}
