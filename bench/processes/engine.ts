import type { CheckPool } from "../../src/engine/threads/pool.ts";
import { type CheckOutcome, isDeferred } from "../../src/engine/threads/thread-tasks.ts";
import { cutByDomain } from "../../src/features/verify/batch/batch-cut.ts";
import { parseAddress } from "../../src/verification/address/address.ts";
import type { Evidence } from "../../src/verification/evidence.ts";
import { decide } from "../../src/verification/verdict/verdict.ts";
import { measure } from "../cpu/cpu.ts";
import { type PlannedAddress, planRun } from "../probing/plan.ts";
import { ADDRESSES_PER_BATCH, BATCHES_IN_FLIGHT, ROWS_PER_CHUNK } from "../probing/probe-batches.ts";
import { answerParent } from "../setup/child.ts";
import { type Checks, startChecks } from "./checks.ts";

let checks: Checks | null = null;

interface PlacedAddress {
  at: number;
  address: { whole: string; domain: string };
  scope: "probed";
}

/** Batches as jobs cut them. */
function cut(planned: readonly PlannedAddress[]): PlacedAddress[][] {
  const batches: PlacedAddress[][] = [];
  for (let from = 0; from < planned.length; from += ROWS_PER_CHUNK) {
    const chunk = planned.slice(from, from + ROWS_PER_CHUNK).map(({ address }, i): PlacedAddress => {
      const domain = address.slice(address.lastIndexOf("@") + 1);
      return { at: from + i, address: { whole: address, domain }, scope: "probed" };
    });
    batches.push(...cutByDomain(chunk, ADDRESSES_PER_BATCH));
  }
  return batches;
}

/** Runs all batches through the pool as jobs do: several at a time, each row patient. */
async function probeAll(
  pool: CheckPool,
  batches: readonly PlacedAddress[][],
  found: CheckOutcome[],
): Promise<void> {
  let next = 0;
  async function worker(): Promise<void> {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      const addresses = batch.map(({ address }) => address.whole);
      const lines = await pool.checkBatch(addresses, "probed", "patient").outcomes;
      for (let i = 0; i < batch.length; i++) found[batch[i]?.at ?? 0] = lines[i] ?? null;
    }
  }
  await Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, worker));
}

function isEvidence(line: CheckOutcome): line is Evidence {
  return line !== null && typeof line === "object" && !isDeferred(line);
}

/** The verdict that an owner of the tier would read. */
function verdictOf(address: string, evidence: Evidence | null): string {
  const parsed = parseAddress(address);
  const decision = decide({
    address: parsed.ok ? parsed.address : null,
    evidence,
    failure: null,
    probing: true,
    blocked: false,
  });
  return `${decision.verdict} ${decision.reason}`;
}

function expectedOf({ exists }: PlannedAddress): string {
  return exists ? "valid accepted_mailbox" : "invalid mailbox_not_found";
}

/** Counts answers that differ from the plan, by the actual verdict. */
function judge(planned: readonly PlannedAddress[], found: readonly (Evidence | null)[]) {
  const wrong: Record<string, number> = {};
  planned.forEach((plan, at) => {
    const verdict = verdictOf(plan.address, found[at] ?? null);
    if (verdict !== expectedOf(plan)) wrong[verdict] = (wrong[verdict] ?? 0) + 1;
  });
  return wrong;
}

const verbs = {
  async start(settings: Record<string, string>) {
    checks = await startChecks(settings);
    return { threads: checks.config.verify.threads };
  },

  /** Probes `count` addresses of run `run`, as rows of jobs are. */
  async probe({ run, count, domains }: { run: number; count: number; domains: number }) {
    if (checks === null) throw new Error("not started");
    const { pool } = checks;
    const planned = planRun(run, count, domains);
    const batches = cut(planned);
    const lines = new Array<CheckOutcome>(planned.length).fill(null);
    const sample = await measure(count, () => probeAll(pool, batches, lines));
    const found = lines.map((line) => (isEvidence(line) ? line : null));
    return { sample, wrong: judge(planned, found) };
  },
};

export type EngineProcess = typeof verbs;

answerParent(verbs, async () => checks?.close());
