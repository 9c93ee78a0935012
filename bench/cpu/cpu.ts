import type { Sample } from "../report/figures.ts";
import { sampleOf } from "../report/figures.ts";

/** Runs `work` and returns the CPU time that this process used for it, in all threads. */
export async function measure(units: number, work: () => Promise<void>): Promise<Sample> {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  return sampleOf(units, wallMs, user + system);
}
