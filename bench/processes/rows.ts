import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Piscina } from "piscina";
import { LIMITS } from "../../src/config/limits/limits.ts";
import type { CheckOutcome } from "../../src/engine/threads/thread-tasks.ts";
import type { AddressQuestion } from "../../src/features/verify/answer/address-question.ts";
import type { EvidenceFinding } from "../../src/features/verify/answer/evidence-finding.ts";
import type { FindingHandler } from "../../src/features/verify/answer/examine.ts";
import {
  OutcomePacker,
  type PackedOutcomes,
  readOutcomes,
} from "../../src/verification/evidence/outcomes.ts";
import { measure } from "../cpu/cpu.ts";
import { planRun } from "../probing/plan.ts";
import { answerParent } from "../setup/child.ts";
import { asker, type Examiners, NEVER_CANCELLED, startExaminers } from "./checks.ts";

/** Single rows in flight: fewer than a team's share of the pool. */
const SINGLES = 2_000;
const ASKER = asker(false);

type Rows = Examiners & { constant: Piscina };

let rows: Rows | null = null;

/** Addresses that no round has asked about before, of domains that all know. */
interface RowsInput {
  run: number;
  round: string;
  count: number;
}

function started(): Rows {
  if (rows === null) throw new Error("not started");
  return rows;
}

function questionsOf({ run, round, count }: RowsInput): AddressQuestion[] {
  const { examiner } = started();
  return planRun(run, count).map(({ address }) => examiner.understand(`${round}${address}`, false, ASKER));
}

/** Takes `items` in turn, so many at once. */
async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  async function worker(): Promise<void> {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}

function chunksOf<T>(all: readonly T[]): T[][] {
  const size = LIMITS.bulk.rowsPerChunk;
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

const isRight = (finding: EvidenceFinding | undefined) =>
  finding?.entry?.evidence.mx.status === "ok" && !finding.cached;

const verbs = {
  async start(settings: Record<string, string>) {
    const examiners = await startExaminers(settings);
    const { threads } = examiners.config.verify;
    const [line] = await examiners.pool.checkBatch(["a@example.test"], "unprobed", "bulk").outcomes;
    rows = { ...examiners, constant: startConstant(threads, line ?? null) };
    return { threads };
  },

  /** As the rows of chunks are examined: LIMITS.bulk.tasksAtOnce chunks at once. */
  async batches(input: RowsInput) {
    const { batches } = started();
    const chunks = chunksOf(questionsOf(input));
    let wrong = 0;
    const sample = await measure(input.count, () =>
      eachOf(chunks, LIMITS.bulk.tasksAtOnce, async (questions) => {
        const options = { refresh: () => false, waitsForSite: false };
        const answers = await batches.examine(questions, options, NEVER_CANCELLED).done;
        for (const { finding } of answers) if (!isRight(finding)) wrong += 1;
      }),
    );
    return { sample, wrong };
  },

  /** As requests are examined: one address a look, a task and a write. */
  async singles(input: RowsInput) {
    const { examiner } = started();
    let wrong = 0;
    const sample = await measure(input.count, () =>
      eachOf(questionsOf(input), SINGLES, async (question) => {
        const startedMs = performance.now();
        const finding = await examiner.find(question, false, { startedMs, ...NEVER_CANCELLED }, AS_FOUND);
        if (!isRight(finding)) wrong += 1;
      }),
    );
    return { sample, wrong };
  },

  /** The ceiling: batches of the same size, whose thread answers the same bytes at once; they are read. */
  async constant(input: RowsInput) {
    const { constant } = started();
    const chunks = chunksOf(questionsOf(input).map(({ email }) => email));
    const sample = await measure(input.count, () =>
      eachOf(chunks, LIMITS.bulk.tasksAtOnce, async (addresses) => {
        readOutcomes((await constant.run(addresses.join("\n"))) as PackedOutcomes);
      }),
    );
    return { sample };
  },
};

const AS_FOUND: FindingHandler<EvidenceFinding> = { settled: (finding) => finding, failed() {} };

function startConstant(threads: number, line: CheckOutcome): Piscina {
  const packer = new OutcomePacker();
  for (let row = 0; row < LIMITS.bulk.rowsPerChunk; row++) packer.add(line);
  return new Piscina({
    filename: fileURLToPath(new URL(`./constant-thread${extname(import.meta.url)}`, import.meta.url)),
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: LIMITS.check.tasksInFlight,
    atomics: "disabled",
    workerData: packer.take(),
  });
}

export type RowsProcess = typeof verbs;

answerParent(verbs, async () => {
  await rows?.constant.destroy();
  await rows?.close();
});
