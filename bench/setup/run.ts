import { InvalidRun } from "../report/figures.ts";
import type { Measured } from "../report/report.ts";
import type { Section } from "../report/table.ts";
import type { Target } from "../report/target.ts";
import type { Bench, SectionEntry } from "../sections.ts";
import type { BenchContext } from "./context.ts";

/** The part of a bench's context that all benches share. */
export type SharedContext = Omit<BenchContext, "databaseUrl" | "allowanceMs">;

export interface Running {
  context: SharedContext;
  /** A clean state for the bench of this name. @returns the URL of its database */
  fresh(name: string): Promise<string>;
  /** Called after each bench. */
  onDone(measured: Measured): void;
}

/** Runs the sections one after the other; what fails takes nothing but its own targets along. */
export async function runSections(
  sections: readonly [string, SectionEntry][],
  running: Running,
): Promise<Measured[]> {
  const all: Measured[] = [];
  for (const [name, entry] of sections) {
    const ofSection: Measured[] = [];
    const allowanceS = entry.allowanceS[running.context.quick ? "quick" : "full"] / entry.benches.length;
    for (const [at, bench] of entry.benches.entries()) {
      const measured = await runBench({ name, bench, allowanceS }, running);
      ofSection.push(measured);
      // After the last one it is known which promised targets are missing.
      if (at === entry.benches.length - 1) measured.targets.push(...untold(entry, ofSection));
      running.onDone(measured);
    }
    all.push(...ofSection);
  }
  return all;
}

async function runBench(
  { name, bench, allowanceS }: { name: string; bench: Bench; allowanceS: number },
  { context, fresh }: Running,
): Promise<Measured> {
  const startedMs = performance.now();
  const told = (section: Section | null, failure: string | null, isInvalid: boolean): Measured => {
    const tookS = (performance.now() - startedMs) / 1_000;
    return { name, section, failure, isInvalid, tookS, allowanceS, targets: [...(section?.targets ?? [])] };
  };
  try {
    const databaseUrl = await fresh(name);
    return told(await bench({ ...context, databaseUrl, allowanceMs: allowanceS * 1_000 }), null, false);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return told(null, text || "it failed without a word", error instanceof InvalidRun);
  }
}

/** Promised targets without a figure, as void lines. */
function untold({ promises }: SectionEntry, ofSection: readonly Measured[]): Target[] {
  const told = new Set(ofSection.flatMap(({ targets }) => targets.map(({ id }) => id)));
  const failures = ofSection.flatMap(({ failure }) => (failure === null ? [] : [failure]));
  const [failure = "its section did not tell it"] = failures;
  const reason = failure.split("\n")[0] ?? failure;
  const missing: Target[] = promises
    .filter((id) => !told.has(id))
    .map((id) => ({ id, what: "not measured", unit: "", figure: null, reason }));
  if (failures.length === 0 || missing.length > 0) return missing;
  // A failure is always reported, whatever was promised.
  return [{ id: ofSection[0]?.name ?? "", what: "a section that failed", unit: "", figure: null, reason }];
}
