import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InvalidRun } from "../../bench/report/figures.ts";
import type { Guard } from "../embedded/guard.ts";
import { fleetFormula } from "./formula.ts";
import { isReproduced } from "./measure/measured.ts";
import { type MeasuredRun, measureAll } from "./measure/run.ts";
import { BadOptions, HELP, type Options, readOptions } from "./options.ts";
import { makePlan } from "./plan.ts";
import { renderList, renderMeasured, renderPlan } from "./render.ts";

const MEASURED = join(import.meta.dirname, "measured.json");
const RUNS_KEPT = 2;

/** Says `text`, or `figures` as JSON. */
function tell({ json }: Options, text: string, figures: unknown): void {
  process.stdout.write(json ? `${JSON.stringify(figures, null, 2)}\n` : text);
}

function planned(options: Options): number {
  const { scenario, target } = options;
  const plan = makePlan(scenario, target);
  tell(options, renderPlan(plan, target), { target, plan, scenario });
  return 0;
}

function listed(options: Options): number {
  const { scenario } = options;
  const formula = fleetFormula(scenario);
  tell(options, renderList(formula, scenario), { formula, scenario });
  return 0;
}

/** Stores the last runs: a test checks the formula against them. */
function keep(run: MeasuredRun): void {
  const kept = JSON.parse(readFileSync(MEASURED, "utf8")) as { runs: MeasuredRun[] };
  const runs = [...kept.runs, run].slice(-RUNS_KEPT);
  writeFileSync(MEASURED, `${JSON.stringify({ runs }, null, 2)}\n`);
}

async function measured(guard: Guard, options: Options): Promise<number> {
  const run = await measureAll(guard, (one, tookS) => {
    if (!options.json) process.stdout.write(`${renderMeasured(one)}  ${tookS.toFixed(0)} s\n\n`);
  });
  if (options.json) tell(options, "", run);
  if (options.write) keep(run);
  return run.configurations.every(isReproduced) ? 0 : 1;
}

async function runMode(guard: Guard, argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (options.mode === "help") process.stdout.write(HELP);
  if (options.mode === "plan") return planned(options);
  if (options.mode === "list") return listed(options);
  return options.mode === "measure" ? measured(guard, options) : 0;
}

/** @returns the exit code: 0; 1 not reproduced or not to be planned; 2 bad options, or a run that must not be counted */
export async function runCapacity(guard: Guard, argv: readonly string[]): Promise<number> {
  try {
    return await runMode(guard, argv);
  } catch (error) {
    if (!(error instanceof BadOptions || error instanceof InvalidRun)) throw error;
    console.error(`rcpt: ${error.message}`);
    if (error instanceof BadOptions) console.error("npm run capacity -- --help lists the options");
    return 2;
  }
}
