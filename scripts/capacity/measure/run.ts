import { resolve } from "node:path";
import { describeMachine, type Machine } from "../../../bench/report/machine.ts";
import { compileProject } from "../../../bench/setup/compile.ts";
import type { BenchContext } from "../../../bench/setup/context.ts";
import { startServices } from "../../../bench/setup/services.ts";
import { createCleanState } from "../../../bench/setup/state.ts";
import type { Guard } from "../../embedded/guard.ts";
import { MANY_SITES, ONE_ADDRESS, TWO_ADDRESSES } from "./configurations.ts";
import type { Measured } from "./measured.ts";
import { measureSiteBound } from "./site-bound.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
/** Time budget of one configuration. It is not enforced here: the lists are short enough. */
const ALLOWANCE_MS = 90_000;

export interface MeasuredRun {
  machine: Machine;
  configurations: Measured[];
}

type Measurement = (context: BenchContext) => Promise<Measured>;

const MEASUREMENTS: readonly [string, Measurement][] = [
  ["one address", (context) => measureSiteBound(context, ONE_ADDRESS)],
  ["two addresses", (context) => measureSiteBound(context, TWO_ADDRESSES)],
  ["many sites", (context) => measureSiteBound(context, MANY_SITES)],
];

/**
 * Measures the compiled service on stores of this run alone, with sinks as mail servers, all on loopback.
 * @param onMeasured called with each configuration as soon as it is measured, and the seconds that it took
 * @throws Error, or InvalidRun when an answer was wrong
 */
export async function measureAll(
  guard: Guard,
  onMeasured: (measured: Measured, tookS: number) => void,
): Promise<MeasuredRun> {
  const startedAt = new Date();
  const [services, compiledDir] = await Promise.all([
    startServices(guard, true),
    compileProject(ROOT, guard),
  ]);
  const machine = await describeMachine(ROOT, services, startedAt);
  const { fresh } = await createCleanState(services);
  const shared = {
    guard,
    compiledDir,
    redisUrl: services.redisUrl,
    objectSettings: services.objectSettings,
    profileDir: null,
    quick: false,
    rows: null,
    allowanceMs: ALLOWANCE_MS,
  };
  const configurations: Measured[] = [];
  for (const [name, measure] of MEASUREMENTS) {
    const startedMs = performance.now();
    const databaseUrl = await fresh(name);
    const measured = await measure({ ...shared, databaseUrl });
    configurations.push(measured);
    onMeasured(measured, (performance.now() - startedMs) / 1_000);
  }
  return { machine, configurations };
}
