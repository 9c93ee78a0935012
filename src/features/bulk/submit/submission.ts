import { LIMITS } from "../../../config/limits/limits.ts";
import { AppError } from "../../../platform/errors.ts";
import { newId } from "../../../platform/ids.ts";
import type { Queryable, TeamTransaction } from "../../../stores/postgres/postgres.ts";
import type { Actor } from "../../identity/actor.ts";
import type { SourceOptions } from "../analysis/layout.ts";
import type { JobRow, JobSource, NewJob, ObjectPlace } from "../jobs/job-sql.ts";
import { countActiveJobs, lockTeamAndCountJobs } from "./team-jobs.ts";

/** The validated options of a submission, from any source. */
export interface SubmissionTerms {
  options: SourceOptions & { escapeFormulas: boolean; splitCells?: boolean };
  withEvidence: boolean;
  metadata: Record<string, string>;
  /** Receives the event of the job's end in addition to the team's webhooks; null: there is no such URL. */
  webhookUrl: string | null;
}

/** A list that became a job: its row as it was queued. */
export type Submit<S> = (actor: Actor, source: S, terms: SubmissionTerms) => Promise<JobRow>;

/** The source of a new job's list. */
export interface NewSource {
  source: JobSource;
  uploadId: string | null;
  place: ObjectPlace;
  bytes: number | null;
}

export function newJob(actor: Actor, terms: SubmissionTerms, from: NewSource, id = newId("job")): NewJob {
  const {
    emailColumn,
    hasHeader,
    delimiter,
    sheet,
    escape: quoteEscape,
    charset,
    escapeFormulas,
    splitCells,
  } = terms.options;
  return {
    id,
    teamId: actor.teamId,
    livemode: actor.livemode,
    source: from.source,
    uploadId: from.uploadId,
    place: from.place,
    sourceBytes: from.bytes,
    options: {
      ...(emailColumn === undefined ? {} : { email_column: emailColumn }),
      ...(hasHeader === undefined ? {} : { has_header: hasHeader }),
      ...(delimiter === undefined ? {} : { delimiter }),
      ...(sheet === undefined ? {} : { sheet }),
      ...(quoteEscape === undefined ? {} : { escape: quoteEscape }),
      ...(charset === undefined ? {} : { encoding: charset }),
      ...(escapeFormulas ? { escape_formulas: true } : {}),
      ...(splitCells === true ? { split_cells: true } : {}),
    },
    dailyQuota: actor.limits.dailyQuota,
    bulkBytes: actor.limits.bulkBytes,
    probing: actor.limits.probing,
    withEvidence: terms.withEvidence,
    metadata: terms.metadata,
    webhookUrl: terms.webhookUrl,
  };
}

function requireRoom(active: number): void {
  const { activeJobs } = LIMITS.bulk;
  if (active >= activeJobs)
    throw new AppError("limit_reached", `A team may have ${activeJobs} jobs under way.`);
}

/**
 * Until the transaction ends no other request submits a job of the team. Live and test jobs are counted apart, so that test
 * keys cannot keep live ones from being submitted.
 * @throws AppError `unauthorized`, `limit_reached`
 */
export async function checkTeamJobs(tx: TeamTransaction, actor: Actor): Promise<void> {
  const active = await lockTeamAndCountJobs(tx, actor);
  if (active === null) throw new AppError("unauthorized", "The team has been deleted.");
  requireRoom(active);
}

/** The same without a lock, before the list is analysed. @throws AppError `limit_reached` */
export async function checkTeamJobsEarly(sql: Queryable, actor: Actor): Promise<void> {
  requireRoom(await countActiveJobs(sql, actor));
}

/** @throws AppError `bulk_too_large` */
export function checkBytes(bytes: number, { limits }: Actor): void {
  if (bytes > limits.bulkBytes)
    throw new AppError("bulk_too_large", `A list of the team may have ${limits.bulkBytes} bytes.`);
}
