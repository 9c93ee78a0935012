// npm run bench [-- SECTION ... [--quick] [--write] [--rows N,N] [--profile DIR]]: measures what the service costs and
// how it scales, each figure beside a ceiling measured in the same run; bench/README.md explains the figures. Ends with
// one table of all targets. Exit codes: 0 every bounded target is reached; 1 one is missed or void, or the bench could
// not run; 2 a measurement must not be counted (wrong verdicts, missing answers). --quick measures less, in minutes
// less; --write writes bench/RESULTS.md and results.json; --rows sets the list lengths of sections that take any. With
// --profile each measured process writes a CPU profile into DIR, which distorts the figures.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describeMachine } from "../bench/report/machine.ts";
import { exitCodeOf, type Measured, renderTargets } from "../bench/report/report.ts";
import { renderResults } from "../bench/report/results.ts";
import { renderSection } from "../bench/report/table.ts";
import { totalTarget } from "../bench/report/total.ts";
import { compileProject } from "../bench/setup/compile.ts";
import { readBenchOptions } from "../bench/setup/options.ts";
import { runSections } from "../bench/setup/run.ts";
import { startServices } from "../bench/setup/services.ts";
import { createCleanState } from "../bench/setup/state.ts";
import type { Guard } from "./embedded/guard.ts";
import { runGuarded } from "./embedded/guarded.ts";

const ROOT = resolve(import.meta.dirname, "..");

/** What a bench found, and what it took, as soon as it is known. */
function tell({ name, section, failure, tookS, allowanceS }: Measured): void {
  if (section !== null) process.stdout.write(renderSection(section));
  else console.log(`${name}: not measured: ${failure}`);
  const late = tookS > allowanceS ? ": more than it may" : "";
  console.log(`  ${tookS.toFixed(1)} s of ${Math.round(allowanceS)} s allowed${late}\n`);
}

async function bench(guard: Guard, argv: string[]): Promise<number> {
  const { sections, isPart, quick, write, rows, profile } = readBenchOptions(argv);
  const startedAt = new Date();
  const startedMs = performance.now();
  const [{ databaseUrl, ...services }, compiledDir] = await Promise.all([
    startServices(
      guard,
      sections.some(([, { needsObjects }]) => needsObjects),
    ),
    compileProject(ROOT, guard),
  ]);
  const { redisUrl } = services;
  const machine = await describeMachine(ROOT, { databaseUrl, redisUrl }, startedAt);
  const { fresh } = await createCleanState({ databaseUrl, redisUrl });
  console.log(
    `Node.js ${machine.node}, ${machine.cores} cores, ${machine.processor}, source ${machine.commit}\n`,
  );
  const profileDir = profile === null ? null : resolve(profile);
  const context = { guard, compiledDir, profileDir, quick, rows, ...services };
  const measured = await runSections(sections, { context, fresh, onDone: tell });
  const tookS = (performance.now() - startedMs) / 1_000;
  if (!isPart) measured.push(totalTarget(tookS, quick));
  console.log(renderTargets(measured.flatMap(({ targets }) => targets)));
  if (write) {
    const files = renderResults({ machine, quick, tookS, measured });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(ROOT, "bench", name), text);
  }
  const code = exitCodeOf(measured);
  console.log(
    `${["Every target is reached.", "Not every target is reached.", "A run was invalid."][code]} ${Math.round(tookS)} s`,
  );
  return code;
}

runGuarded((guard) => bench(guard, process.argv.slice(2)), { interruptedCode: 130 });
