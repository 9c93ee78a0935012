import type { Database } from "../../src/stores/postgres/postgres.ts";
import { cpuMsOf } from "../cpu/process-cpu.ts";
import { residentOf } from "../cpu/resident.ts";
import { InvalidRun } from "../report/figures.ts";

/**
 * Stages of a job: waiting for a worker, analysis, chunks until each row has its answer, and the assembly of the
 * results.
 */
export const STAGES = ["queued", "analysis", "chunks", "assembly"] as const;
export type Stage = (typeof STAGES)[number];

/** Duration of a stage, and the CPU of the worker's process, all threads. */
export interface StageCost {
  wallMs: number;
  cpuMs: number;
}

export interface StagedRun {
  stages: Record<Stage, StageCost>;
  all: StageCost;
  /** The worker's largest resident set so far, bytes. */
  peakBytes: number;
}

/** Polling and its answers run on the same cores: every 20 ms they took 1 µs of a row. */
const LOOK_EVERY_MS = 50;
const STALLED_MS = 120_000;
interface Look {
  status: string;
  analysed: boolean;
  processed: number;
  rows: number;
  detail: string | null;
}

/** Current stage of the job; null: it is completed. */
function stageOf({ status, analysed, processed, rows }: Look): Stage | null {
  if (status === "completed") return null;
  if (analysed) return processed < rows ? "chunks" : "assembly";
  return status === "analyzing" ? "analysis" : "queued";
}

/**
 * Follows a job to its end, from the moment it was submitted.
 * @param pid of its worker
 * @throws InvalidRun when it ends otherwise than completed, or nothing goes on any more
 */
export async function followStages(sql: Database, jobId: string, pid: number): Promise<StagedRun> {
  const stages = Object.fromEntries(STAGES.map((stage) => [stage, { wallMs: 0, cpuMs: 0 }])) as Record<
    Stage,
    StageCost
  >;
  const all: StageCost = { wallMs: 0, cpuMs: 0 };
  let last = { atMs: performance.now(), cpuMs: cpuMsOf(pid) };
  let stage: Stage | null = "queued";
  let moved = { atMs: last.atMs, state: "" };
  while (stage !== null) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const [look] = await sql<Look[]>`
      select status, layout is not null as analysed, valid + invalid + risky + unknown as processed,
        rows_total as rows, error_detail as detail
      from jobs where id = ${jobId}`;
    const now = { atMs: performance.now(), cpuMs: cpuMsOf(pid) };
    for (const cost of [stages[stage], all]) {
      cost.wallMs += now.atMs - last.atMs;
      cost.cpuMs += now.cpuMs - last.cpuMs;
    }
    last = now;
    if (look === undefined || look.status === "failed" || look.status === "cancelled")
      throw new InvalidRun(`job ${jobId} ended ${look?.status ?? "nowhere"}: ${look?.detail}`);
    stage = stageOf(look);
    const state = `${stage} ${look.processed}`;
    if (state !== moved.state) moved = { atMs: now.atMs, state };
    if (now.atMs - moved.atMs > STALLED_MS) throw new InvalidRun(`job ${jobId} hangs: ${state} rows`);
  }
  return { stages, all, peakBytes: residentOf(pid).peak };
}
