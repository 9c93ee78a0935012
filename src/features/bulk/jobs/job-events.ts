import { LIMITS } from "../../../config/limits/limits.ts";
import type { Logger } from "../../../platform/log.ts";
import { createTeamSlots, tooMany } from "../../../platform/team-slots.ts";
import { type Clock, pause } from "../../../platform/time/clock.ts";
import { shareKey } from "../../identity/actor.ts";
import type { JobRow } from "./job-sql.ts";
import type { BulkJob } from "./job-view.ts";

/** The stream of a job's events to one follower. */
export interface JobEvents {
  /** Server-sent events, as they happen, until the job has ended or is gone; at most once. */
  open(gone: AbortSignal): AsyncIterable<Uint8Array>;
  /** The follower has left. Idempotent. */
  release(): void;
}

/**
 * The progress of jobs for their followers: all followers of a process share one look at Postgres in
 * LIMITS.results.followEveryMs. Each follower gets the newest state only: a slow one misses the states in between.
 *
 * Events: `job`, its state at first; `progress` with the job whenever it has changed; `end` with the job when it has ended.
 * The id of `end` is ENDED: a follower that reconnects with it has received every event.
 */
export interface JobFollowers {
  /** @throws AppError `overloaded`, `rate_limited` */
  follow(job: JobRow): JobEvents;
}

export const END_EVENT_ID = "end";

export interface FollowersDeps {
  /** The jobs with these ids in their present state, except removed ones. */
  jobsOf(ids: readonly string[]): Promise<JobRow[]>;
  render(row: JobRow): BulkJob;
  clock: Clock;
  log: Logger;
}

/** A job that is followed. */
interface FollowedJob {
  /** null: it is gone. */
  row: JobRow | null;
  /** Climbs with each change. */
  version: number;
  followers: Set<() => void>;
}

/** Compares the rows, not the views: a view contains the job's age, which changes by itself. */
function isSame(a: JobRow | null, b: JobRow | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function eventOf(event: string, id: string, job: BulkJob): Buffer {
  return Buffer.from(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(job)}\n\n`);
}

const HEARTBEAT = Buffer.from(": still there\n\n");

const { followers, teamFollowers, keptFollowers, followEveryMs, followPage } = LIMITS.results;
const { followFailures, heartbeatMs, reconnectMs } = LIMITS.results;

class StreamJobFollowers implements JobFollowers {
  readonly #deps: FollowersDeps;
  readonly #places = createTeamSlots(
    { all: followers, perShare: teamFollowers, kept: keptFollowers },
    tooMany("followers of jobs", teamFollowers),
  );
  readonly #jobs = new Map<string, FollowedJob>();
  #looking = false;

  constructor(deps: FollowersDeps) {
    this.#deps = deps;
  }

  follow(row: JobRow): JobEvents {
    const release = this.#places.take(shareKey({ teamId: row.team_id, livemode: row.livemode }));
    return { open: (gone) => this.#tell(row, gone), release };
  }

  #note(id: string, row: JobRow | null): void {
    const job = this.#jobs.get(id);
    if (job === undefined || isSame(job.row, row)) return;
    job.row = row;
    job.version += 1;
    for (const wake of job.followers) wake();
  }

  /** True: these were looked at. Never rejects. */
  async #lookAt(ids: readonly string[]): Promise<boolean> {
    try {
      const found = new Map((await this.#deps.jobsOf(ids)).map((row) => [row.id, row]));
      for (const id of ids) this.#note(id, found.get(id) ?? null);
      return true;
    } catch (error) {
      this.#deps.log.warn({ err: error, jobs: ids.length }, "jobs that are followed were not looked at");
      return false;
    }
  }

  /** A job that cannot be read does not prevent reading the others. If all fail, the look ends soon. */
  async #look(): Promise<void> {
    const ids = [...this.#jobs.keys()];
    let failures = 0;
    for (let from = 0; from < ids.length; from += followPage) {
      const page = ids.slice(from, from + followPage);
      if ((await this.#lookAt(page)) || page.length === 1) continue;
      for (const id of page) {
        failures = (await this.#lookAt([id])) ? 0 : failures + 1;
        if (failures >= followFailures) return;
      }
    }
  }

  /** Looks repeatedly while there are followers. */
  async #watch(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    while (this.#jobs.size > 0) {
      await pause(this.#deps.clock, followEveryMs);
      await this.#look();
    }
    this.#looking = false;
  }

  #join(row: JobRow, wake: () => void): FollowedJob {
    const job = this.#jobs.get(row.id) ?? { row, version: 0, followers: new Set() };
    this.#jobs.set(row.id, job);
    job.followers.add(wake);
    void this.#watch();
    return job;
  }

  #leave(id: string, job: FollowedJob, wake: () => void): void {
    job.followers.delete(wake);
    if (job.followers.size === 0 && this.#jobs.get(id) === job) this.#jobs.delete(id);
  }

  async *#tell(first: JobRow, gone: AbortSignal): AsyncGenerator<Uint8Array> {
    let wake: () => void = () => {};
    const notify = () => wake();
    const job = this.#join(first, notify);
    gone.addEventListener("abort", notify);
    /** Until something happens; false: nothing did for a while. */
    const happens = (version: number) =>
      new Promise<boolean>((resolve) => {
        const timer = this.#deps.clock.after(heartbeatMs, () => resolve(false));
        wake = () => {
          timer.cancel();
          resolve(true);
        };
        if (job.version !== version || gone.aborted) wake();
      });
    try {
      yield Buffer.concat([
        Buffer.from(`retry: ${reconnectMs}\n`),
        eventOf("job", "0", this.#deps.render(first)),
      ]);
      for (let told = first; ; ) {
        const { row, version } = job;
        if (gone.aborted || row === null) return;
        if (row.completed_at !== null) return yield eventOf("end", END_EVENT_ID, this.#deps.render(row));
        if (!isSame(row, told)) {
          told = row;
          yield eventOf("progress", `${version}`, this.#deps.render(row));
        } else if (!(await happens(version))) yield HEARTBEAT;
      }
    } finally {
      gone.removeEventListener("abort", notify);
      this.#leave(first.id, job, notify);
    }
  }
}

export function createJobFollowers(deps: FollowersDeps): JobFollowers {
  return new StreamJobFollowers(deps);
}
