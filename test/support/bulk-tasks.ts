import { tmpdir } from "node:os";
import { createJobEndings } from "../../src/features/bulk/jobs/job-endings.ts";
import { insertJob, type NewJob, queueJob, recordAnalysis } from "../../src/features/bulk/jobs/job-sql.ts";
import { type JobObjects, repeatsKey, sourceKey } from "../../src/features/bulk/results/job-objects.ts";
import type { SiteParking } from "../../src/features/bulk/run/chunk.ts";
import { type Control, createControl } from "../../src/features/bulk/run/control.ts";
import type { DeferralSettings } from "../../src/features/bulk/run/deferrals.ts";
import type {
  RowAnswer,
  RowsVerifyOptions,
  RowVerifier,
  RowWaitPolicy,
  VerifiedRow,
} from "../../src/features/bulk/run/row-verifier.ts";
import { createBulkTaskRunner } from "../../src/features/bulk/run/task-runner.ts";
import { type ChunkRange, insertAnalysis, insertChunks } from "../../src/features/bulk/schedule/job-tasks.ts";
import { createGrantCheck, type GrantCheck } from "../../src/features/bulk/submit/grant-check.ts";
import { analyseInline, INLINE_COLUMNS } from "../../src/features/bulk/submit/source.ts";
import type { AddressQuestion } from "../../src/features/verify/answer/address-question.ts";
import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import { newId } from "../../src/platform/ids.ts";
import type { ObjectStreams } from "../../src/stores/objects/object-streams.ts";
import type { Database } from "../../src/stores/postgres/postgres.ts";
import { createScratch, type Scratch } from "../../src/stores/scratch.ts";
import { createFakeClock } from "./fake-clock.ts";
import type { MemoryObjects } from "./memory-objects.ts";
import { newTeam, silentLog } from "./store.ts";

/** An inline job of a team as submission makes it. */
export function inlineJob(teamId: string, id: string): NewJob {
  return {
    id,
    teamId,
    livemode: true,
    source: { type: "inline" },
    uploadId: null,
    place: { bucket: null, key: sourceKey(teamId, id), etag: null },
    sourceBytes: null,
    options: {},
    dailyQuota: 1_000_000,
    bulkBytes: 1_000_000_000,
    probing: true,
    withEvidence: false,
    metadata: {},
    webhookUrl: null,
  };
}

/** Queues a job with these chunks; the caller writes its objects. */
export async function queueChunks(
  sql: Database,
  job: NewJob,
  chunks: readonly ChunkRange[],
  found: { rows: number; duplicates: number; malformed: number },
): Promise<void> {
  const layout = { delimiter: ",", emailColumn: 0, columns: 1, header: ["email"], bom: false };
  await sql.begin(async (tx) => {
    await insertJob(tx, job, "submitting");
    await queueJob(tx, job.id);
    const findings = { columns: INLINE_COLUMNS, warnings: [] };
    await recordAnalysis(tx, job.id, { ...found, empty: 0, place: job.place, layout, findings });
    await insertChunks(tx, job.id, chunks);
  });
}

/** A queued job of a new team, with its source and its index of repeats in object storage. */
export async function queueInline(
  sql: Database,
  objects: JobObjects,
  emails: readonly string[],
): Promise<{ id: string; teamId: string }> {
  const { teamId } = await newTeam(sql, "enterprise");
  const id = newId("job");
  const { content, chunks, repeats, ...found } = await analyseInline(emails);
  await objects.put(sourceKey(teamId, id), content, "text/csv");
  await objects.put(repeatsKey(teamId, id), repeats, "application/octet-stream");
  await queueChunks(sql, inlineJob(teamId, id), chunks, found);
  return { id, teamId };
}

/** A file that lies in object storage, queued with its analysis: task -1. */
export async function queueFile(
  sql: Database,
  objects: MemoryObjects,
  content: Buffer,
  terms: Partial<NewJob> = {},
): Promise<{ id: string; teamId: string }> {
  const teamId = terms.teamId ?? (await newTeam(sql, "enterprise")).teamId;
  const id = newId("job");
  const place = terms.place ?? { bucket: null, key: `teams/${teamId}/uploads/${id}`, etag: null };
  objects.kept.set(place.key, content);
  const source = { type: "upload", upload_id: "upl_1", filename: "list.csv" } as const;
  await sql.begin(async (tx) => {
    await insertJob(tx, { ...inlineJob(teamId, id), source, ...terms, place }, "queued");
    await insertAnalysis(tx, id);
  });
  return { id, teamId };
}

export const answered = (email: string, verdict: "valid" | "unknown"): VerifiedRow => ({
  result: resultOf(email, verdict),
  charged: verdict === "valid",
});

/** Answers rows by the texts of their cells, in order. */
export type AnswerEmails = (
  emails: readonly string[],
  ask: RowsVerifyOptions,
  policy: RowWaitPolicy,
  control: Control,
) => Promise<RowAnswer[]>;

export function rowsBy(answer: AnswerEmails): RowVerifier {
  return {
    answerReady: (rows) =>
      [...rows].map(({ offset, email }) => ({ offset, question: { email } as AddressQuestion })),
    async verify(rows, ask, policy, control) {
      const emails = rows.map(({ question }) => question.email);
      const answers = await answer(emails, ask, policy, control);
      return rows.map(({ offset }, i) => ({ offset, answer: answers[i] as RowAnswer }));
    },
    giveUp: (email) => answered(email, "unknown"),
  };
}

/** Every row is valid and charged. */
export const allValid: AnswerEmails = async (emails) =>
  emails.map((email) => ({ verified: answered(email, "valid") }));
export const ALL_VALID = rowsBy(allValid);

function resultOf(email: string, verdict: "valid" | "unknown"): VerificationResult {
  const checks = { smtp: { catch_all: "unknown" }, role: {}, disposable: {}, mx: {} };
  return { email, verdict, reason: verdict, risk_score: 0, checks } as unknown as VerificationResult;
}

export interface RunnerParts {
  sql: Database;
  objects: MemoryObjects;
  rows: RowVerifier;
  deferral?: DeferralSettings;
  /** Replaces functions of `objects`. */
  streams?: Partial<ObjectStreams>;
  scratch?: Scratch;
  /** Instead of what Postgres has. */
  granted?: GrantCheck;
  /** Absent: no site blocks us. */
  parking?: SiteParking;
}

export const EGRESS = "egress-1";

/** A task runner on a clock that stands still, with the tasks that it gave up on (`buried`). */
export function createRunner(parts: RunnerParts) {
  const { sql, objects, rows } = parts;
  const clock = createFakeClock();
  const buried: number[] = [];
  /** Reports of the runner: `KIND END` for each task, and `KIND answered + deferred` for its rows. */
  const ends: string[] = [];
  const told: { verdict: string; reason: string }[] = [];
  const runner = createBulkTaskRunner({
    sql,
    objects,
    rows,
    streams: { ...objects.streams, ...parts.streams },
    bucket: "bucket",
    granted: parts.granted ?? createGrantCheck({ sql, clock, ownBucket: "bucket" }),
    scratch: parts.scratch ?? createScratch(tmpdir()),
    deferral: parts.deferral ?? { firstMs: 1_000, maxMs: 60_000, queueMaxMs: 60_000 },
    egress: EGRESS,
    parking: parts.parking ?? { waitMs: () => null, tryRelease: async () => {} },
    random: () => 0,
    onAssembly: () => undefined,
    onEnd: (kind, end) => void ends.push(`${kind} ${end}`),
    onRows: (kind, { counts, deferrals }) => {
      const answered = counts.valid + counts.invalid + counts.risky + counts.unknown;
      ends.push(`${kind} ${answered} + ${deferrals.reduce((sum, { rowCount }) => sum + rowCount, 0)}`);
    },
    onVerified: (result, count) => told.push(...new Array<typeof result>(count).fill(result)),
    clock,
    log: silentLog,
    tracer: null,
    deadLetters: { bury: async ({ number }) => void buried.push(number) },
    endings: createJobEndings({ clock, view: { publicUrl: null, retentionDays: 30 } }),
  });
  /** Runs a task, moving the clock for as long as it waits. */
  async function run(jobId: string, number: number, control: Control = createControl()): Promise<boolean> {
    let over = false;
    const outcome = runner.run({ jobId, number }, control).finally(() => {
      over = true;
    });
    while (!over) {
      await clock.advanceAsync(1_000);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return outcome;
  }
  return { run, clock, buried, told, ends };
}
export { createMemoryObjects } from "./memory-objects.ts";
