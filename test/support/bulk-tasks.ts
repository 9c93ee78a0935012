import { type Control, createControl } from "../../src/bulk/control.ts";
import type { RowVerifier } from "../../src/bulk/rows.ts";
import { createTaskRunner } from "../../src/bulk/task.ts";
import { newId } from "../../src/core/ids.ts";
import { createEndings } from "../../src/services/bulk/ending.ts";
import { analyseInline } from "../../src/services/bulk/source.ts";
import type { VerificationResult } from "../../src/services/verify/verification-result.ts";
import { type JobObjects, MissingObject, sourceKey } from "../../src/store/job-objects.ts";
import { insertChunks } from "../../src/store/job-tasks.ts";
import { insertJob, queueJob } from "../../src/store/jobs.ts";
import type { Database } from "../../src/store/postgres.ts";
import { createFakeClock } from "./fake-clock.ts";
import { newTeam, silentLog } from "./store.ts";

/** Object storage in memory. */
export function createMemoryObjects(): JobObjects & { kept: Map<string, Buffer> } {
  const kept = new Map<string, Buffer>();
  const get = async (key: string) => {
    const found = kept.get(key);
    if (found === undefined) throw new MissingObject("no such object");
    return found;
  };
  return {
    kept,
    get,
    async put(key, body) {
      kept.set(key, Buffer.from(body));
    },
    getRange: async (key, { firstByte, bytes }) => (await get(key)).subarray(firstByte, firstByte + bytes),
  };
}

/** A job of a new team, queued, whose source is kept. */
export async function queueInline(
  sql: Database,
  objects: JobObjects,
  emails: readonly string[],
): Promise<{ id: string; teamId: string }> {
  const { teamId } = await newTeam(sql, "enterprise");
  const id = newId("job");
  const { content, chunks, rows, duplicates, malformed } = await analyseInline(emails);
  await objects.put(sourceKey(teamId, id), content, "application/x-ndjson");
  const terms = { livemode: true, probing: true, withEvidence: false };
  const rest = { metadata: {}, webhookUrl: null, rows, duplicates, malformed };
  await sql.begin(async (tx) => {
    await insertJob(tx, { id, teamId, source: { type: "inline" }, ...terms, ...rest });
    await queueJob(tx, id);
    await insertChunks(tx, id, chunks);
  });
  return { id, teamId };
}

/** Every row is valid and charged. */
export const ALL_VALID: RowVerifier = {
  verify: async (rows) =>
    rows.map(({ email, same_as }) =>
      same_as === undefined ? { result: resultOf(email, "valid"), charged: true } : null,
    ),
  giveUp: (rows) =>
    rows.map(({ email, same_as }) =>
      same_as === undefined ? { result: resultOf(email, "unknown"), charged: false } : null,
    ),
};

function resultOf(email: string, verdict: "valid" | "unknown"): VerificationResult {
  const checks = { smtp: { catch_all: "unknown" }, role: {}, disposable: {}, mx: {} };
  return { email, verdict, reason: verdict, risk_score: 0, checks } as unknown as VerificationResult;
}

export interface RunnerParts {
  sql: Database;
  objects: JobObjects;
  rows: RowVerifier;
}

/** A task runner on a clock that stands still, and what it noted as given up. */
export function createRunner(parts: RunnerParts) {
  const clock = createFakeClock();
  const buried: number[] = [];
  const runner = createTaskRunner({
    ...parts,
    clock,
    log: silentLog,
    stream: { bury: async ({ number }) => void buried.push(number) },
    endings: createEndings({ clock, view: { publicUrl: null, retentionDays: 30 } }),
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
  return { run, clock, buried };
}
