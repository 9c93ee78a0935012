import { LIMITS } from "../../../config/limits/limits.ts";
import { AppError } from "../../../platform/errors.ts";
import { isId } from "../../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../../platform/page.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { type Actor, canAccessMode } from "../../identity/actor.ts";
import { type ResultFileNames, resultFileNames } from "../results/file-name.ts";
import type { Results, ResultsBody, ResultsQuery } from "../results/results.ts";
import type { SubmitBulk } from "../submit/submit.ts";
import { type DeferredRows, findDeferredGroups } from "./deferred-groups.ts";
import { isActive, type JobEndings } from "./job-endings.ts";
import { END_EVENT_ID, type JobEvents, type JobFollowers } from "./job-events.ts";
import { findJobProviders, type JobProviders } from "./job-providers.ts";
import { findJob, hideJob, type JobRow, listJobs, lockJob, shareLockTeam } from "./job-sql.ts";
import { type BulkJob, renderJob, type ViewSettings } from "./job-view.ts";

/** Bulk jobs as their team uses them. Another team's job is not found, nor a live one by a test key. */
export interface BulkJobs {
  submit: SubmitBulk;
  /** @throws AppError `not_found` */
  get(actor: Actor, id: string): Promise<BulkJob>;
  /** The rows that will be retried; empty for a job that has ended. @throws AppError `not_found` */
  deferred(actor: Actor, id: string): Promise<DeferredRows>;
  /** The answered rows by provider, so far or in all. @throws AppError `not_found` */
  providers(actor: Actor, id: string): Promise<JobProviders>;
  /** Newest first. */
  list(actor: Actor, ask: PageRequest): Promise<Page<BulkJob>>;
  /** Ends a job at once; its answered rows are charged and can be read. @throws AppError `not_found`, `job_finished` */
  cancel(actor: Actor, id: string): Promise<BulkJob>;
  /** Cancels it if it runs, and removes it with its results. @throws AppError `not_found` */
  remove(actor: Actor, id: string): Promise<void>;
  /**
   * The caller must release the body when it is sent.
   * @param gone aborted when the client has disconnected
   * @throws AppError `not_found`, and those of `Results`
   */
  results(actor: Actor, id: string, ask: ResultsQuery, gone: AbortSignal): Promise<JobResults>;
  /**
   * The caller must release the events when the follower has disconnected.
   * @param lastEventId id of the last event that the follower received; "": it received none
   * @returns null: the job has ended, and the follower has received its end
   * @throws AppError `not_found`, and those of `JobFollowers`
   */
  events(actor: Actor, id: string, lastEventId: string): Promise<JobEvents | null>;
}

/** Results of a job, and what a file of them is called. */
export interface JobResults {
  body: ResultsBody;
  fileNames: ResultFileNames;
}

export interface BulkJobsDeps {
  sql: Database;
  clock: Clock;
  view: ViewSettings;
  endings: JobEndings;
  submit: SubmitBulk;
  /** null: no object storage is configured. */
  results: Results | null;
  followers: JobFollowers;
}

function notFound(): AppError {
  return new AppError("not_found", "There is no such job.");
}

export function createBulkJobs(deps: BulkJobsDeps): BulkJobs {
  const { sql, endings } = deps;
  const render = (row: JobRow) => renderJob(row, deps.view, deps.clock.now());

  async function find(actor: Actor, id: string): Promise<JobRow> {
    const row = isId("job", id) ? await findJob(sql, actor.teamId, id) : null;
    if (row === null || !canAccessMode(actor, row)) throw notFound();
    return row;
  }

  return {
    submit: deps.submit,
    get: async (actor, id) => render(await find(actor, id)),
    async deferred(actor, id) {
      const job = await find(actor, id);
      if (job.completed_at !== null || job.deferred === 0) return { data: [], rows: 0 };
      return findDeferredGroups(sql, id, LIMITS.bulk.deferredGroups);
    },
    async providers(actor, id) {
      await find(actor, id);
      return findJobProviders(sql, id, LIMITS.bulk.providers);
    },
    async list(actor, ask) {
      const page = { after: ask.after, limit: ask.limit + 1, testOnly: !actor.livemode };
      const rows = await listJobs(sql, actor.teamId, page);
      return pageOf(rows, ask, (row) => row.id, render);
    },
    async cancel(actor, id) {
      await find(actor, id);
      const ended = await endings.endAlone(sql, actor.teamId, id, { status: "cancelled" });
      if (ended === null) throw notFound();
      if (typeof ended === "string") throw new AppError("job_finished", `The job is ${ended}.`);
      return render(ended);
    },
    async remove(actor, id) {
      await find(actor, id);
      const ended = await sql.begin(async (tx) => {
        if (!(await shareLockTeam(tx, actor.teamId))) throw notFound();
        const status = await lockJob(tx, actor.teamId, id);
        if (status === null) throw notFound();
        const ending = { status: "cancelled" } as const;
        const was = isActive(status) ? await endings.end(tx, actor.teamId, id, ending) : null;
        await hideJob(tx, id);
        return was;
      }, actor.teamId);
      endings.committed(ended);
    },
    async results(actor, id, ask, gone) {
      const job = await find(actor, id);
      if (deps.results === null)
        throw new AppError("feature_unconfigured", "Object storage is not configured here.");
      // First: from then on the body holds a slot until it is released.
      const fileNames = resultFileNames(job, ask);
      return { body: await deps.results.read(job, ask, gone), fileNames };
    },
    async events(actor, id, lastEventId) {
      const job = await find(actor, id);
      return job.completed_at !== null && lastEventId === END_EVENT_ID ? null : deps.followers.follow(job);
    },
  };
}
