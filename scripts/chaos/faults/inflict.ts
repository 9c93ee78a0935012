import { setTimeout as wait } from "node:timers/promises";
import { FAULTS, type Family, type Kind } from "./faults.ts";
import type { FaultContext, Injury } from "./injury.ts";
import * as outside from "./outside-injuries.ts";
import { clock, disk, kill, roll, stall } from "./process-injuries.ts";
import type { PlannedFault } from "./schedule.ts";

const INJURIES: Readonly<Record<Kind, Injury>> = {
  kill,
  stall,
  roll,
  clock,
  disk,
  "redis-restart": outside.redisRestart,
  "redis-loss": outside.redisLoss,
  "postgres-restart": outside.postgresRestart,
  "postgres-crash": outside.postgresCrash,
  "objects-fail": outside.objectsFail,
  "objects-stall": outside.objectsStall,
  "objects-cut": outside.objectsCut,
  "smtp-fail": outside.smtpFail,
  "smtp-stall": outside.smtpStall,
  "smtp-cut": outside.smtpCut,
  "dns-silence": outside.dnsSilence,
  "dns-fail": outside.dnsFail,
  webhook: outside.webhook,
};

/**
 * Brings the faults about at their times; resolves when all are over.
 * @param tell of each as it begins
 * @throws Error when something that was taken away could not be brought back
 */
export async function inflictAll(
  faults: readonly PlannedFault[],
  context: FaultContext,
  tell: (fault: PlannedFault, atMs: number) => void,
): Promise<void> {
  const startedMs = performance.now();
  const lines = new Map<Family, Promise<void>>();
  const all: Promise<void>[] = [];
  for (const fault of faults) {
    await wait(Math.max(0, startedMs + fault.atMs - performance.now()));
    // One that took longer than planned is waited for: two of a family would be one outage with two ends.
    const { family } = FAULTS[fault.kind];
    const before = lines.get(family);
    const injury = (async () => {
      await before;
      tell(fault, performance.now() - startedMs);
      await INJURIES[fault.kind](fault, context);
    })();
    // Failures are reported when all are over; the faults of a family go on after a failed one.
    lines.set(
      family,
      injury.catch(() => undefined),
    );
    all.push(injury);
  }
  await Promise.all(all);
}
