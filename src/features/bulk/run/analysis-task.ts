import { LIMITS } from "../../../config/limits/limits.ts";
import { AppError } from "../../../platform/errors.ts";
import { isJobErrorCode } from "../../../platform/job-errors.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import {
  ChangedObject,
  ForbiddenObject,
  MissingObject,
  type ObjectRef,
  type ObjectStreams,
  type ObjectWriter,
} from "../../../stores/objects/object-streams.ts";
import { listGrants } from "../../../stores/objects/s3-grants.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import type { Scratch } from "../../../stores/scratch.ts";
import type { AddressReading } from "../../../verification/address/addresses-in.ts";
import { refuseTestAddress } from "../../verify/answer/test-keys.ts";
import {
  type AnalysisBounds,
  type AnalysisSinks,
  analyseSource,
  type ScannedSource,
} from "../analysis/analyse.ts";
import type { JobProblem, SourceLayout, SourceOptions } from "../analysis/layout.ts";
import { createRepeatFinder, type RepeatFinder } from "../analysis/repeat-finder.ts";
import { writeRepeatsIndex } from "../analysis/repeats-index.ts";
import { settleAnalysis } from "../analysis/settle-analysis.ts";
import { recheckColumn, repeatWarnings } from "../columns/recheck-column.ts";
import type { JobEndings } from "../jobs/job-endings.ts";
import {
  type AnalysisJob,
  type JobOptions,
  type ObjectPlace,
  type SourceFindings,
  startAnalysis,
} from "../jobs/job-sql.ts";
import { newRowsKey, repeatsKey } from "../results/job-objects.ts";
import type { AnalysisTask } from "../schedule/job-tasks.ts";
import { isGranted } from "../submit/grant-check.ts";
import { randomBytesOf } from "../workbook/random-bytes.ts";
import { type Control, interruptOnOutage } from "./control.ts";
import { SourceUnavailable } from "./foreign-sources.ts";
import type { TaskReport } from "./task-report.ts";

export interface AnalysisDeps {
  sql: Database;
  streams: ObjectStreams;
  scratch: Scratch;
  endings: JobEndings;
  clock: Clock;
  /** Name of the deployment's own bucket. */
  bucket: string;
}

/** The source is such that the job cannot be done: thrown from wherever that turns out. */
class AnalysisRefused extends Error {
  readonly problem: JobProblem;
  constructor(problem: JobProblem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Why the job cannot be done, of an error that says so; undefined: of any other. */
function problemOf(error: unknown): JobProblem | undefined {
  if (error instanceof AnalysisRefused) return error.problem;
  if (error instanceof MissingObject)
    return { code: "source_missing", detail: "The source object no longer exists." };
  if (error instanceof ChangedObject)
    return { code: "source_changed", detail: "The object to read was replaced after the job was submitted." };
  if (error instanceof ForbiddenObject)
    return {
      code: "s3_not_granted",
      detail: "The bucket's owner does not let this deployment's credentials read the object.",
    };
  if (error instanceof SourceUnavailable)
    return { code: "source_unavailable", detail: `The list cannot be read. ${error.message}` };
  return undefined;
}

function refOf({ bucket, key, etag }: ObjectPlace): ObjectRef {
  return { bucket, key, ...(etag === null ? {} : { etag }) };
}

function optionsOf(asked: JobOptions): SourceOptions & { splitCells: boolean } {
  return {
    splitCells: asked.split_cells === true,
    ...(asked.email_column === undefined ? {} : { emailColumn: asked.email_column }),
    ...(asked.has_header === undefined ? {} : { hasHeader: asked.has_header }),
    ...(asked.delimiter === undefined ? {} : { delimiter: asked.delimiter }),
    ...(asked.sheet === undefined ? {} : { sheet: asked.sheet }),
    ...(asked.escape === undefined ? {} : { escape: asked.escape }),
    ...(asked.encoding === undefined ? {} : { charset: asked.encoding }),
  };
}

/** Checks the grant again: it may have been revoked since the job was submitted. */
async function checkGrant({ sql, bucket: own }: AnalysisDeps, teamId: string, place: ObjectPlace) {
  const { bucket, key } = place;
  if (
    bucket === null ||
    isGranted(await interruptOnOutage(() => listGrants(sql, teamId)), { bucket, key }, own)
  )
    return;
  throw new AnalysisRefused({
    code: "s3_not_granted",
    detail: "The operator has not granted this place to the team.",
  });
}

/** One attempt at an analysis. */
interface Attempt {
  deps: AnalysisDeps;
  task: AnalysisTask;
  job: AnalysisJob;
  bounds: AnalysisBounds;
  control: Control;
  report: TaskReport;
}

/** The source once it is read, and where the bytes of its rows are now. */
interface ReadSource extends ScannedSource {
  place: ObjectPlace;
}

/** The most, about: where cells are split, each record has a mark and its address before it. */
function rewrittenBytes({ split_cells }: JobOptions, { rows, bytes }: AnalysisBounds): number {
  return split_cells === true ? 3 * bytes + MARK_BYTES * rows : bytes;
}

const MARK_BYTES = 12;

/** Writes the converted text while the source is read. Writes nothing if the source's bytes are the text. */
function createRewriter({ deps, task, job, bounds, control }: Attempt) {
  const key = newRowsKey(task.teamId, task.jobId);
  let writer: ObjectWriter | null = null;
  return {
    open() {
      writer = deps.streams.openWrite(key, "text/csv", control.signal, rewrittenBytes(job.options, bounds));
      return writer;
    },
    abort: async () => writer?.abort(),
    /** @returns the object with the text */
    async end(): Promise<ObjectPlace> {
      if (writer === null) return job.place;
      const { etag } = await writer.end();
      return { bucket: null, key, etag };
    },
  };
}

async function readSource(attempt: Attempt, finder: RepeatFinder): Promise<ReadSource> {
  const { deps, task, job, bounds, control } = attempt;
  const rewriting = createRewriter(attempt);
  const sinks: AnalysisSinks = {
    repeats: finder,
    rewrite: rewriting.open,
    ...(task.livemode
      ? {}
      : { inspect: (reading: AddressReading) => refuseTestAddress(reading, deps.clock) }),
  };
  try {
    const ref = refOf(job.place);
    const source = deps.streams.openRead(ref, {}, control.signal);
    const at = () => randomBytesOf(deps.streams, ref, control.signal);
    const options = { ...optionsOf(job.options), workbook: { at, scratch: deps.scratch } };
    const read = await analyseSource(source, options, bounds, sinks, control.signal);
    if (!read.ok) throw new AnalysisRefused(read);
    return { ...read, place: await rewriting.end() };
  } catch (error) {
    await rewriting.abort();
    if (error instanceof AppError && isJobErrorCode(error.code))
      throw new AnalysisRefused({ code: error.code, detail: "A test address of the list asks for this." });
    throw error;
  }
}

/** How the source was read, for the log. */
function columnsLine({ columns, warnings }: SourceFindings) {
  const { email, delimiter, has_header, encoding, skipped_lines } = columns;
  return {
    email_column: email.index,
    chosen_by: email.chosen_by,
    delimiter,
    has_header,
    encoding,
    skipped_lines: skipped_lines.length,
    warnings: warnings.map(({ code }) => code).join(" "),
  };
}

/** Columns keep their bytes: a byte order mark, which says UTF-8, is added only to text that is. UTF-16 was made UTF-8. */
function layoutOfResults({ layout, columns }: ScannedSource, { escape_formulas }: JobOptions): SourceLayout {
  const isUtf8 = columns.encoding.startsWith("utf-");
  return { ...layout, bom: layout.bom || (escape_formulas === true && isUtf8) };
}

async function analyse(attempt: Attempt, finder: RepeatFinder): Promise<void> {
  const { deps, task, control, report } = attempt;
  const read = await report.phase("read", () => readSource(attempt, finder));
  const { place, rows, malformed, empty, chunks: cut } = read;
  const found = await report.phase("find repeats", () => finder.finish());
  control.signal.throwIfAborted();
  const { duplicates } = found;
  const addresses = rows - malformed - empty;
  const counts = { addresses, distinct: addresses - duplicates };
  const columnProblem = recheckColumn(read, counts);
  if (columnProblem !== null) throw new AnalysisRefused(columnProblem);
  const findings = { columns: read.columns, warnings: [...read.warnings, ...repeatWarnings(read, counts)] };
  const index = repeatsKey(task.teamId, task.jobId);
  const open = () => deps.streams.openWrite(index, "application/octet-stream", control.signal);
  const chunks = await report.phase("write index", () => writeRepeatsIndex(cut, found, open));
  report.add({ rows, duplicates, malformed, empty, chunks: chunks.length, ...columnsLine(findings) });
  const layout = layoutOfResults(read, attempt.job.options);
  const analysis = { place, layout, findings, rows, duplicates, malformed, empty };
  const settle = () => settleAnalysis(deps, { task, found: analysis, chunks }, control.signal);
  const shortfall = await report.phase("mark done", settle);
  if (shortfall !== null) throw new AnalysisRefused({ code: "quota_exceeded", detail: shortfall.detail });
}

async function analyseInScratch(attempt: Attempt): Promise<void> {
  const { scratch } = attempt.deps;
  const finder = createRepeatFinder(scratch, { rowsMax: Math.max(1, attempt.bounds.rows) });
  try {
    await analyse(attempt, finder);
  } finally {
    await finder.close();
  }
}

/**
 * The analysis of a job's source. The source is read once from beginning to end: its rows are cut into chunks, its repeats
 * are found, and its maximum cost is held. Then its chunks are tasks. A source that cannot be read as a list, or exceeds
 * the team's limits, fails the job, which costs nothing.
 *
 * An interrupted attempt leaves at most some objects below the job's prefix; the next one starts from the beginning. Of
 * concurrent attempts, one records its findings.
 *
 * Memory: LIMITS.objects.partsInFlight parts while something is written, one RepeatFinder, a piece and a record of the
 * source, the memory of openWorkbook for a workbook, and some 200 bytes a chunk.
 * @throws Interruption; Error for any other failure
 */
export async function runAnalysis(
  deps: AnalysisDeps,
  task: AnalysisTask,
  { control, report }: { control: Control; report: TaskReport },
): Promise<void> {
  const { sql, endings } = deps;
  const { jobId, teamId } = task;
  const job = await interruptOnOutage(() => startAnalysis(sql, jobId));
  if (job === null) return;
  const bounds = { rows: Math.min(job.dailyQuota, LIMITS.bulk.rows), bytes: job.bulkBytes };
  try {
    await checkGrant(deps, teamId, job.place);
    await interruptOnOutage(() => analyseInScratch({ deps, task, job, bounds, control, report }));
  } catch (error) {
    const problem = problemOf(error);
    if (problem === undefined) throw error;
    report.add({ code: problem.code });
    const { code, detail, candidates } = problem;
    const details = { code, detail, ...(candidates === undefined ? {} : { candidates }) };
    const ending = { status: "failed", ...details, charges: false } as const;
    await interruptOnOutage(() => endings.endAlone(sql, teamId, jobId, ending));
  }
}
