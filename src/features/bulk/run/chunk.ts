import type { Logger } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import type { TeamOverlay } from "../../identity/actor.ts";
import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import { dialectOfResults } from "../csv/dialect.ts";
import { startJob } from "../jobs/job-sql.ts";
import { type JobObjects, newShardKey } from "../results/job-objects.ts";
import { encodeShard, ResultsTooLarge } from "../results/shard.ts";
import { TemplatedRows } from "../results/templated-rows.ts";
import {
  type ChunkTask,
  finishRows,
  type RetryTask,
  type RowsOutcome,
  startAssembly,
} from "../schedule/job-tasks.ts";
import { type AnsweredRows, countRows, forEachResult, withoutRows } from "./answered-rows.ts";
import { type ChunkRowsDeps, readTaskRows, type TaskRows } from "./chunk-rows.ts";
import { type Control, interruptOnOutage } from "./control.ts";
import { type DeferralSettings, type SortedRows, sortRows } from "./deferrals.ts";
import type { DistinctRow, RowsVerifyOptions, RowVerifier } from "./row-verifier.ts";
import { ProbeSummary, reportRows } from "./rows-report.ts";
import type { TaskReport } from "./task-report.ts";

export interface ChunkDeps extends ChunkRowsDeps {
  sql: Database;
  objects: JobObjects;
  clock: Clock;
  log: Logger;
  rows: RowVerifier;
  /** The team's domain lists: changes before the job's submission, or more than a second ago, are included. */
  overlayOf(teamId: string, jobId: string): Promise<TeamOverlay>;
  deferral: DeferralSettings;
  /** The egress that asks mail servers here: a row that was deferred is asked again by the same one. */
  egress: string;
  /** Sites that block us: when to ask there again, and the release of parked rows once the site is open again. */
  parking: SiteParking;
  /** 0 up to 1. */
  random(): number;
  /** Called when the assembly of a job is ready to be emitted. */
  onAssembly(): void;
  /** Called with each task that is done, once in the whole deployment. */
  onRows(kind: RowsTask["kind"], outcome: RowsOutcome): void;
  /** Called with the answered rows of a live job, `count` of them alike. */
  onVerified(result: Pick<VerificationResult, "verdict" | "reason" | "cached">, count: number): void;
}

export interface SiteParking {
  /** How long rows that found the site closed to us should wait, in milliseconds; null: it is open again. */
  waitMs(site: string): number | null;
  /** Rows that wait for the site are due now. Never rejects. */
  tryRelease(site: string): Promise<void>;
}

type RowsTask = ChunkTask | RetryTask;

/** One attempt at a task. */
interface Attempt {
  control: Control;
  report: TaskReport;
}

/** Results of a task's rows; templated ones are not among `answered`. */
interface Examined extends SortedRows {
  templated: TemplatedRows;
}

/** Verifies the rows: some are answered for good, others wait. */
async function verify(
  deps: ChunkDeps,
  task: RowsTask,
  rows: TaskRows,
  asked: RowsVerifyOptions,
  { control, report }: Attempt,
): Promise<Examined> {
  const startedMs = deps.clock.monotonic();
  const policy = task.kind === "chunk" ? { kind: task.kind } : { kind: task.kind, site: task.site };
  const templated = new TemplatedRows(task.kind === "chunk" ? task.rows : 0);
  const others = deps.rows.answerReady(rows.distinct, asked, policy, templated);
  report.add({ at_hand: templated.size });
  const probes = report.span === null ? null : new ProbeSummary();
  const answers = await deps.rows.verify(others, asked, policy, control, templated, probes);
  probes?.addTo(report);
  const waited =
    task.kind === "chunk"
      ? { deferredMs: 0, attempts: 0 }
      : { deferredMs: task.deferredMs + deps.clock.monotonic() - startedMs, attempts: task.attempts };
  const sorted = sortRows(answers, {
    ...deps.deferral,
    ...waited,
    chunkRows: task.rows,
    egress: deps.egress,
    parkedMs: deps.parking.waitMs,
    random: deps.random,
    progressed: templated.size > 0,
  });
  return { ...sorted, templated };
}

function giveUp(deps: ChunkDeps, rows: readonly DistinctRow[], asked: RowsVerifyOptions): Examined {
  const answered = rows.map(({ offset, email }) => ({ offset, verified: deps.rows.giveUp(email, asked) }));
  return { answered, deferrals: [], parkedAt: [], templated: new TemplatedRows() };
}

/** Answers, and the shard that has them. */
interface WrittenShard {
  answered: AnsweredRows;
  shard: Buffer;
}

/**
 * Encodes the results as a shard. A result that is too large is given up without a charge: that affects its row, not the
 * job.
 */
async function encodeResults(
  deps: ChunkDeps,
  task: RowsTask,
  rows: TaskRows,
  answered: AnsweredRows,
  asked: RowsVerifyOptions,
): Promise<WrittenShard> {
  const style = { ...dialectOfResults(task.layout), escapeFormulas: task.escapeFormulas };
  const shardOf = ({ templated, others }: AnsweredRows) =>
    encodeShard(
      others.map(({ offset, verified }) => ({ offset, result: verified.result })),
      style,
      templated,
    );
  try {
    return { answered, shard: await shardOf(answered) };
  } catch (error) {
    if (!(error instanceof ResultsTooLarge)) throw error;
    const { jobId: job, number } = task;
    deps.log.error({ job, number, rows: error.offsets.size }, "results of rows are too large, and given up");
    const large = rows.distinct.filter(({ offset }) => error.offsets.has(offset));
    const rest = withoutRows(answered, error.offsets);
    const others = [...rest.others, ...giveUp(deps, large, asked).answered];
    const all = { templated: rest.templated, others };
    return { answered: all, shard: await shardOf(all) };
  }
}

/** null: there is nothing to write. */
async function writeShard(
  deps: ChunkDeps,
  task: RowsTask,
  { answered, shard }: WrittenShard,
  control: Control,
): Promise<string | null> {
  if (answered.templated.size + answered.others.length === 0) return null;
  const key = newShardKey(task.teamId, task.jobId, task.number);
  await interruptOnOutage(() => deps.objects.put(key, shard, "application/gzip", control.signal));
  return key;
}

async function readRows(deps: ChunkDeps, task: RowsTask, { control, report }: Attempt): Promise<TaskRows> {
  report.add({ bytes_read: task.bytes + task.repeatsBytes });
  return report.phase("read", () => interruptOnOutage(() => readTaskRows(deps, task, control.signal)));
}

/** Releases rows that were parked just as the site let us in again, too late to be released with the others. */
async function releaseParked({ parking }: ChunkDeps, parkedAt: readonly string[]): Promise<void> {
  for (const site of parkedAt) if (parking.waitMs(site) === null) await parking.tryRelease(site);
}

/**
 * Runs a chunk, or a retry of some of its rows. The rows are read, verified and written as a shard; only then is the task
 * done. Rows that have to wait become retries in the same transaction. When no task is left, the assembly of the job can
 * begin.
 * @param attempt its report receives the numbers of results
 * @param givenUp no mail server is asked: every row is `unknown`, `internal_error`
 * @throws Interruption; SourceLost, MissingObject when an object is gone; Error when one differs from the one written
 */
export async function runRows(
  deps: ChunkDeps,
  task: RowsTask,
  attempt: Attempt,
  givenUp: boolean,
): Promise<void> {
  const { sql } = deps;
  const { control, report } = attempt;
  const { teamId, jobId, livemode, withEvidence, probing } = task;
  if (!task.started) await interruptOnOutage(() => startJob(sql, jobId));
  const overlay = await interruptOnOutage(() => deps.overlayOf(teamId, jobId));
  const rows = await readRows(deps, task, attempt);
  const asked = { asker: { teamId, probing, overlay }, livemode, withEvidence };
  const { templated, ...examined } = givenUp
    ? giveUp(deps, rows.distinct, asked)
    : await report.phase("examine", () => verify(deps, task, rows, asked, attempt));
  report.add({ rows: rows.distinct.length });
  const write = async () => {
    const written = await encodeResults(deps, task, rows, { templated, others: examined.answered }, asked);
    return { ...written, shardKey: await writeShard(deps, task, written, control) };
  };
  const { answered, shard, shardKey } = await report.phase("write shard", write);
  const { deferrals } = examined;
  const outcome: RowsOutcome = { shardKey, ...countRows(rows.copies, answered), deferrals };
  report.add({ bytes_written: shardKey === null ? 0 : shard.length });
  reportRows(report, answered, outcome);
  const finish = () => finishRows(sql, task, outcome);
  const finishAll = () => sql.begin((tx) => finishRows(tx, task, outcome));
  const { counted, isFollowed } = await report.phase("mark done", () =>
    interruptOnOutage(deferrals.length === 0 ? finish : finishAll),
  );
  if (counted) {
    deps.onRows(task.kind, outcome);
    await releaseParked(deps, examined.parkedAt);
  }
  if (counted && livemode) forEachResult(answered, deps.onVerified);
  // Two statements less for nearly each chunk of a long list, and each retry.
  if (!isFollowed && (await interruptOnOutage(() => startAssembly(sql, jobId)))) deps.onAssembly();
}
