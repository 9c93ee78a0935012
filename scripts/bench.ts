// npm run bench [-- probing|unprobed|http ... [--profile DIR]]: what the service costs, each figure beside a ceiling that
// was measured in the same run. Exits non-zero when a run was invalid (errors, wrong verdicts), never because the machine
// is slow. With --profile each measured process leaves a CPU profile in DIR, at the price of true figures.
import { chmodSync, mkdtempSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { compileProject } from "../bench/compile.ts";
import type { BenchContext } from "../bench/context.ts";
import { benchCachedVerify } from "../bench/http.ts";
import { benchProbing } from "../bench/probing.ts";
import { renderSection, type Section } from "../bench/table.ts";
import { benchUnprobed } from "../bench/unprobed.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";
import { startStack } from "./embedded/stack.ts";

const ROOT = resolve(import.meta.dirname, "..");

type Bench = (context: BenchContext) => Promise<Section>;

const SECTIONS: Record<string, Bench[]> = {
  probing: [(context) => benchProbing(context, 0), (context) => benchProbing(context, 20)],
  unprobed: [benchUnprobed],
  http: [benchCachedVerify],
};

/** @throws Error that names what there is not */
function chosen(names: readonly string[]): Bench[] {
  const wanted = names.length === 0 ? Object.keys(SECTIONS) : names;
  return wanted.flatMap((name) => {
    const benches = SECTIONS[name];
    if (!benches) throw new Error(`there is no section ${name}: ${Object.keys(SECTIONS).join(", ")}`);
    return benches;
  });
}

/** Postgres and Redis of this run alone, in a folder that goes with it. */
async function startServices(guard: Guard): Promise<Pick<BenchContext, "databaseUrl" | "redisUrl">> {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-bench-"));
  guard.removeAtEnd(dir);
  chmodSync(dir, 0o711);
  const { postgres, redis } = await startStack({
    dir,
    cacheDir: join(ROOT, ".rcpt/cache"),
    wanted: ["postgres", "redis"],
    throwaway: true,
    guard,
    say: (line) => console.error(line),
  });
  if (!postgres || !redis) throw new Error("the services did not start");
  return { databaseUrl: postgres.url, redisUrl: redis.url };
}

async function bench(guard: Guard, argv: string[]): Promise<number> {
  const options = { profile: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const benches = chosen(positionals);
  const startedMs = performance.now();
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  console.log(`Node.js ${process.versions.node}, ${availableParallelism()} cores, ${model}\n`);
  const profileDir = values.profile === undefined ? null : resolve(values.profile);
  const [services, compiledDir] = await Promise.all([startServices(guard), compileProject(ROOT, guard)]);
  const context = { guard, compiledDir, profileDir, ...services };
  for (const run of benches) console.log(renderSection(await run(context)));
  console.log(`Every run was valid. ${Math.round((performance.now() - startedMs) / 1000)} s`);
  return 0;
}

runGuarded((guard) => bench(guard, process.argv.slice(2)), { interruptedCode: 130 });
