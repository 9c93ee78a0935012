// npm run bench [-- probing|unprobed|http|bulk-memory|slow-site ... [--profile DIR] [--rows N,N]]: what the service
// costs, each figure beside a ceiling that was measured in the same run. Exits non-zero when a run was invalid (errors,
// wrong verdicts), never because the machine is slow; bulk-memory also when memory grows with the rows of a list, or is
// above what the configuration allows; slow-site also when a capped provider holds up the rows of others. With --profile
// each measured process leaves a CPU profile in DIR, at the price of true figures.
import { chmodSync, mkdtempSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { benchBulkMemory } from "../bench/bulk-memory.ts";
import { benchBulkThroughput } from "../bench/bulk-throughput.ts";
import { compileProject } from "../bench/compile.ts";
import type { BenchContext } from "../bench/context.ts";
import { InvalidRun } from "../bench/figures.ts";
import { benchCachedVerify } from "../bench/http.ts";
import { benchProbing } from "../bench/probing.ts";
import { benchSlowSite } from "../bench/slow-site.ts";
import { renderSection, type Section } from "../bench/table.ts";
import { benchUnprobed, benchUnprobedRows } from "../bench/unprobed.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { startStack } from "./embedded/stack.ts";
import { stackSettings } from "./start/settings.ts";

const ROOT = resolve(import.meta.dirname, "..");

type Bench = (context: BenchContext) => Promise<string>;

interface Sections {
  benches: Bench[];
  needsObjects: boolean;
}

const section = (bench: (context: BenchContext) => Promise<Section>) => async (context: BenchContext) =>
  renderSection(await bench(context));

const SECTIONS: Record<string, Bench[]> = {
  probing: ([0, 20] as const).map((latencyMs) => section((context) => benchProbing(context, latencyMs))),
  unprobed: [section(benchUnprobed), section(benchUnprobedRows)],
  http: [section(benchCachedVerify)],
};
/** These take as long as their lists, hence only when they are asked for. */
const MEMORY = "bulk-memory";
const MEMORY_ROWS = [1_000_000, 10_000_000];
const THROUGHPUT = "bulk-throughput";
const SLOW_SITE = "slow-site";
const SLOW_SITE_ROWS = 60_000;

function memoryBench(lengths: readonly number[]): Bench {
  return async (context) => {
    const { text, exceeded } = await benchBulkMemory(context, lengths);
    if (exceeded === null) return text;
    console.log(text);
    throw new InvalidRun(exceeded);
  };
}

function slowSiteBench(rows: number): Bench {
  return async (context) => {
    const { text, missed } = await benchSlowSite(context, rows);
    if (missed === null) return text;
    console.log(text);
    throw new InvalidRun(missed);
  };
}

/**
 * @param lengths rows of lists; null: as many as each bench is meant to have
 * @throws Error that names what there is not
 */
function chosen(names: readonly string[], lengths: readonly number[] | null): Sections {
  const wanted = names.length === 0 ? Object.keys(SECTIONS) : names;
  const listed: Record<string, () => Bench> = {
    [THROUGHPUT]: () => section(benchBulkThroughput),
    [MEMORY]: () => memoryBench(lengths ?? MEMORY_ROWS),
    [SLOW_SITE]: () => slowSiteBench(lengths?.at(-1) ?? SLOW_SITE_ROWS),
  };
  const benches = wanted.flatMap((name) => {
    const found = listed[name]?.() ?? SECTIONS[name];
    if (!found) {
      const known = [...Object.keys(SECTIONS), ...Object.keys(listed)];
      throw new Error(`there is no section ${name}: ${known.join(", ")}`);
    }
    return found;
  });
  return { benches, needsObjects: wanted.some((name) => name in listed) };
}

/** @throws Error that says how it is to be given */
function lengthsOf(text: string): number[] {
  const lengths = text.split(",").map(Number);
  const isAscending = lengths.every((rows, i) => Number.isInteger(rows) && rows > (lengths[i - 1] ?? 0));
  if (!isAscending) throw new Error("--rows takes numbers of rows, ascending, e.g. 1000000,10000000");
  return lengths;
}

/** Services of this run alone, in a folder that goes with it. */
async function startServices(
  guard: Guard,
  needsObjects: boolean,
): Promise<Pick<BenchContext, "databaseUrl" | "redisUrl" | "objectSettings">> {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-bench-"));
  guard.removeAtEnd(dir);
  chmodSync(dir, 0o711);
  const stack = await startStack({
    dir,
    cacheDir: join(ROOT, ".rcpt/cache"),
    wanted: needsObjects ? ["postgres", "redis", "objects"] : ["postgres", "redis"],
    throwaway: true,
    guard,
    say: (line) => console.error(line),
  });
  const { postgres, redis } = stack;
  if (!postgres || !redis) throw new Error("the services did not start");
  const objectSettings = stackSettings({ ...stack, postgres: null, redis: null });
  return { databaseUrl: postgres.url, redisUrl: redis.url, objectSettings };
}

async function bench(guard: Guard, argv: string[]): Promise<number> {
  const options = {
    profile: { type: "string" },
    rows: { type: "string" },
    quick: { type: "boolean", default: false },
  } as const;
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const { benches, needsObjects } = chosen(
    positionals,
    values.rows === undefined ? null : lengthsOf(values.rows),
  );
  const startedMs = performance.now();
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  console.log(`Node.js ${process.versions.node}, ${availableParallelism()} cores, ${model}\n`);
  const profileDir = values.profile === undefined ? null : resolve(values.profile);
  const [services, compiledDir] = await Promise.all([
    startServices(guard, needsObjects),
    compileProject(ROOT, guard),
  ]);
  const context = { guard, compiledDir, profileDir, quick: values.quick, ...services };
  for (const run of benches) console.log(await run(context));
  console.log(`Every run was valid. ${Math.round((performance.now() - startedMs) / 1000)} s`);
  return 0;
}

runGuarded((guard) => bench(guard, process.argv.slice(2)), { interruptedCode: 130 });
