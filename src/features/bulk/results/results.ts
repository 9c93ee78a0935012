import { LIMITS } from "../../../config/limits/limits.ts";
import { AppError } from "../../../platform/errors.ts";
import { createTeamSlots, tooMany } from "../../../platform/team-slots.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { createPacedTurns, type PacedTurns } from "../../../platform/time/paced-turns.ts";
import {
  ChangedObject,
  MissingObject,
  type ObjectRef,
  type ObjectStreams,
} from "../../../stores/objects/object-streams.ts";
import { isObjectsOutage } from "../../../stores/objects/objects.ts";
import { isOutage, type Queryable } from "../../../stores/postgres/postgres.ts";
import { ScratchFull } from "../../../stores/scratch.ts";
import { shareKey } from "../../identity/actor.ts";
import { parseRange, type RangeHeaders, type RequestedRange } from "../analysis/byte-ranges.ts";
import { type FilteredRows, filterRows } from "../analysis/filter-rows.ts";
import { dialectOfResults } from "../csv/dialect.ts";
import type { JobRow } from "../jobs/job-sql.ts";
import { chunksOf } from "../schedule/job-tasks.ts";
import { SourceLost } from "../submit/source-rows.ts";
import { type JobMaterial, materialOf } from "./job-results.ts";
import { type JoinDeps, readJoined } from "./join.ts";
import { type Format, formatOf } from "./result-rows.ts";
import { RowFilter, type WantedRows } from "./row-filter.ts";
import { RowLimit } from "./row-limit.ts";

export interface ResultsQuery extends RangeHeaders, WantedRows {
  format: Format;
  /** Maximum number of rows; null: all. */
  limit: number | null;
}

/** Results on their way to a client. */
export interface ResultsBody {
  /** null: not known before the end. */
  bytes: number | null;
  /** Entity tag of the whole, if it is an object. */
  etag: string | null;
  /** The requested range of `total` bytes; null: the whole. */
  range: (RequestedRange & { total: number }) | null;
  /** Pieces, as fast as they are taken; at most once. */
  open(gone: AbortSignal): AsyncIterable<Uint8Array>;
  /** The body is not needed any more. Idempotent. */
  release(): void;
}

/**
 * Streams results of jobs: assembled ones as they are in object storage, or a selection of their rows. Of a job that is
 * running or was cancelled, the answered rows are joined while they are read. At most LIMITS.results.downloads at once,
 * joinedDownloads of them joined.
 */
export interface Results {
  /**
   * The caller releases it when the client has it, or has disconnected.
   * @throws AppError `no_results` of a failed job, or of one whose source is not analysed; `overloaded`, `rate_limited`;
   *   `range_not_satisfiable`; `source_missing`, also when the object is another one; `s3_not_granted` when it may not be
   *   read any more; `unavailable` when object storage, Postgres or the disk fails; `not_found` when the job is being removed
   * @param gone aborted when the client has disconnected: reading stops, and it is released
   */
  read(job: JobRow, ask: ResultsQuery, gone?: AbortSignal): Promise<ResultsBody>;
}

export interface ResultsDeps extends Omit<JoinDeps, "chunksOf" | "streams" | "sizes"> {
  sql: Queryable;
  clock: Clock;
  streams: Pick<ObjectStreams, "head" | "openRead" | "readRange">;
}

type Opened = Omit<ResultsBody, "release">;

/** The client has gone: it does not receive this error, and nothing is at fault. */
function readAborted(cause: unknown): AppError {
  return new AppError("unavailable", "Nobody waits for the results any more.", { cause });
}

function refusalOfLost(cause: SourceLost): AppError {
  if (cause.code === "s3_not_granted")
    return new AppError(cause.code, "The list that the job was made from may not be read any more.", {
      cause,
    });
  const detail = "The list that the job was made from is no longer there, or another one.";
  return new AppError("source_missing", detail, { cause });
}

/** Errors before the first byte, as the client's error. Our own faults are unchanged. */
function refusal(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof MissingObject || error instanceof ChangedObject)
    return new AppError("not_found", "The job has been removed.", { cause: error });
  if (error instanceof SourceLost) return refusalOfLost(error);
  const isFull = error instanceof ScratchFull && error.disk;
  if (!isFull && !isObjectsOutage(error) && !isOutage(error)) return error;
  return new AppError("unavailable", "The results cannot be read now.", { retryAfterS: 1, cause: error });
}

/**
 * The same pieces, once the first is there, so that an earlier error is thrown here. A first piece that takes longer than
 * LIMITS.results.headMs does not delay the head of the answer: a request for few rows of many may wait long for it.
 */
async function awaitFirstPiece(
  pieces: AsyncGenerator<Uint8Array>,
  clock: Clock,
): Promise<AsyncIterable<Uint8Array>> {
  const first = pieces.next();
  await new Promise<void>((resolve, reject) => {
    const timer = clock.after(LIMITS.results.headMs, resolve);
    first.then(() => resolve(), reject).finally(() => timer.cancel());
  });
  return (async function* () {
    const { done, value } = await first;
    if (done === true) return;
    yield value;
    yield* pieces;
  })();
}

/** The reason why a job has no results, not even a header; null: it has. */
function noResults({ status, error_code, error_detail }: JobRow): AppError | null {
  if (status !== "failed") return null;
  return new AppError("no_results", `The job has failed (${error_code}): ${error_detail}`);
}

/** The error for a job whose layout is not known. */
function withoutLayout({ status }: JobRow): AppError {
  if (status === "queued" || status === "analyzing")
    return new AppError(
      "no_results",
      "The list has not been read yet: ask again when the job is processing.",
    );
  if (status === "cancelled")
    return new AppError("no_results", "The job was cancelled before its list had been read.");
  return new AppError("not_found", "The job has been removed.");
}

const whole = { etag: null, range: null };

const shareOf = (job: JobRow) => shareKey({ teamId: job.team_id, livemode: job.livemode });

const { downloads, teamDownloads, joinedDownloads, teamJoinedDownloads } = LIMITS.results;

class StoredResults implements Results {
  readonly #deps: ResultsDeps;
  readonly #places = createTeamSlots(
    { all: downloads, perShare: teamDownloads, kept: LIMITS.results.keptDownloads },
    tooMany("downloads of results", teamDownloads),
  );
  readonly #joinedPlaces = createTeamSlots(
    { all: joinedDownloads, perShare: teamJoinedDownloads, kept: LIMITS.results.keptJoinedDownloads },
    tooMany("downloads of results of jobs that are not completed", teamJoinedDownloads),
  );
  /** What is read to send a part of it, or nothing: no client's connection slows it down. */
  readonly #turns: PacedTurns;
  readonly #joinDeps: JoinDeps;

  constructor(deps: ResultsDeps) {
    this.#deps = deps;
    this.#turns = createPacedTurns(deps.clock, LIMITS.results.loopPart);
    this.#joinDeps = {
      ...deps,
      sizes: LIMITS.results.joinedDownload,
      chunksOf: (jobId: string, after: number, limit: number) => chunksOf(deps.sql, jobId, after, limit),
    };
  }

  async read(job: JobRow, ask: ResultsQuery, gone?: AbortSignal): Promise<ResultsBody> {
    const none = noResults(job);
    if (none !== null) throw none;
    const giveBack = this.#places.take(shareOf(job));
    const control = new AbortController();
    const release = () => {
      control.abort(new Error("the reader of the results has gone"));
      giveBack();
    };
    gone?.addEventListener("abort", release, { once: true });
    if (gone?.aborted === true) release();
    try {
      return { ...(await this.#opened(job, ask, control)), release };
    } catch (error) {
      release();
      if (gone?.aborted === true) throw readAborted(error);
      throw refusal(error);
    }
  }

  /** The assembled results. */
  async #object(key: string, share: string): Promise<{ ref: ObjectRef; bytes: number; etag: string }> {
    const found = await this.#deps.streams.head({ bucket: null, key }, { share });
    if (found === null) throw new AppError("not_found", "The job has been removed.");
    const { bytes, etag } = found;
    return { ref: { bucket: null, key, etag }, bytes, etag };
  }

  async #assembled(key: string, share: string, ask: ResultsQuery): Promise<Opened> {
    const { ref, bytes, etag } = await this.#object(key, share);
    const range = parseRange(ask, bytes, etag);
    return {
      bytes: range?.bytes ?? bytes,
      etag,
      range: range === null ? null : { ...range, total: bytes },
      open: (gone) => this.#deps.streams.openRead(ref, range ?? {}, gone),
    };
  }

  async #filtered(key: string, share: string, material: JobMaterial, asked: FilteredRows): Promise<Opened> {
    const { ref } = await this.#object(key, share);
    const inTurn = (work: () => void) => this.#turns.run(share, work);
    const rows = (gone: AbortSignal) =>
      filterRows(this.#deps.streams.openRead(ref, {}, gone), asked, material, inTurn);
    return { bytes: null, ...whole, open: rows };
  }

  async *#joinedRows(
    material: JobMaterial,
    { format, filter, limit }: FilteredRows,
    share: string,
    gone: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const writer = formatOf(format, material);
    const dialect = dialectOfResults(material.layout);
    const areAll = filter.criteria.length === 0;
    const first = new RowLimit(limit, material.layout.split !== undefined);
    let start: Buffer | null = writer.start.length > 0 ? writer.start : null;
    for await (const rows of readJoined(this.#joinDeps, material, gone)) {
      // Sent when rows follow it: an error before the first row is answered instead of it.
      if (start !== null) yield start;
      start = null;
      gone.throwIfAborted();
      const write = () => {
        const wanted = first.take(
          areAll ? rows : rows.filter(({ result }) => filter.wantsResult(result, dialect)),
        );
        return wanted.length === 0 ? null : writer.rows(wanted);
      };
      const bytes = await this.#turns.run(share, write, rows.length * LIMITS.results.joinedRowMs);
      if (bytes !== null && bytes.length > 0) yield bytes;
      if (first.areAll) break;
    }
    if (start !== null) yield start;
    const end = writer.end();
    if (end.length > 0) yield end;
  }

  async #joined(
    job: JobRow,
    material: JobMaterial,
    asked: FilteredRows,
    control: AbortController,
  ): Promise<Opened> {
    control.signal.throwIfAborted();
    const giveBack = this.#joinedPlaces.take(shareOf(job));
    control.signal.addEventListener("abort", giveBack, { once: true });
    const rows = this.#joinedRows(material, asked, shareOf(job), control.signal);
    const pieces = await awaitFirstPiece(rows, this.#deps.clock);
    // Also ends a body that was never read.
    const end = () => void rows.return(undefined).catch(() => undefined);
    if (control.signal.aborted) end();
    else control.signal.addEventListener("abort", end, { once: true });
    const open = (gone: AbortSignal) => {
      gone.addEventListener("abort", () => control.abort(gone.reason), { once: true });
      return pieces;
    };
    return { bytes: null, ...whole, open };
  }

  async #opened(job: JobRow, ask: ResultsQuery, control: AbortController): Promise<Opened> {
    const { format, limit } = ask;
    const filter = new RowFilter(ask);
    const key = job.results_key === null ? null : `${job.results_key}.${format}`;
    if (key !== null && filter.criteria.length === 0 && limit === null)
      return this.#assembled(key, shareOf(job), ask);
    const material = await materialOf(this.#deps.sql, job.id);
    if (material === null) throw withoutLayout(job);
    // Since it was looked at.
    if (material.status === "failed") throw new AppError("no_results", "The job has failed.");
    const asked = { format, filter, limit };
    return key === null
      ? this.#joined(job, material, asked, control)
      : this.#filtered(key, shareOf(job), material, asked);
  }
}

export function createResults(deps: ResultsDeps): Results {
  return new StoredResults(deps);
}
