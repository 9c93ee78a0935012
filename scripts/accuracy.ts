// npm run accuracy [-- --show development] [-- --only development]
//
// How well the rules read replies, by corpus and its state (test/corpus/README.md). Prints no blind reply unless --show
// names that corpus. Exit code: 0 the held-back half meets the targets; 1 it does not, or is not there.
import { parseArgs } from "node:util";
import { CORPUS_NAMES, type CorpusName, type Labelled, OPENED, readCorpus } from "../test/corpus/labelled.ts";
import type { Figures } from "./accuracy/figures.ts";
import { missLines, reportOf } from "./accuracy/report.ts";
import { timingLines } from "./accuracy/timing.ts";

/** The corpus that decides; see test/corpus/README.md. */
const HELD_BACK: CorpusName = "blind-d";
const RECALL_MIN = 0.97;

/** What the figures of a corpus are worth. */
function stateOf(name: CorpusName): string {
  if (name === HELD_BACK) return "blind, held back";
  return OPENED.some((opened) => opened === name) ? "opened: proves nothing" : "rules are written by it";
}

/** The rows by which rules were written, or might have been, before `name` was read. */
function seenBefore(name: CorpusName): Labelled[] {
  const before =
    name === "development" ? [] : name === HELD_BACK ? ["development", ...OPENED] : ["development"];
  return CORPUS_NAMES.filter((other) => before.includes(other)).flatMap((other) => readCorpus(other) ?? []);
}

function meetsTargets(figures: Figures): boolean {
  const { hits, of } = figures.unknownUsers;
  return of > 0 && hits / of >= RECALL_MIN && figures.falseInvalid.length === 0;
}

function named(option: string | undefined): CorpusName | null {
  if (option === undefined) return null;
  const name = CORPUS_NAMES.find((candidate) => candidate === option);
  if (name === undefined) throw new Error(`${option} is none of ${CORPUS_NAMES.join(", ")}`);
  return name;
}

function main(): number {
  const { values } = parseArgs({ options: { show: { type: "string" }, only: { type: "string" } } });
  const show = named(values.show);
  const only = named(values.only);
  const development = readCorpus("development");
  let held: Figures | null = null;
  for (const name of CORPUS_NAMES) {
    if (only !== null && only !== name) continue;
    const rows = name === "development" ? development : readCorpus(name);
    if (rows === null) {
      console.log(`${name}: not there`);
      continue;
    }
    const { lines, figures, judged } = reportOf(name, rows, seenBefore(name));
    console.log(`[${stateOf(name)}] ${lines.join("\n")}`);
    if (show === name) console.log(missLines(judged).join("\n"));
    if (name === HELD_BACK) held = figures;
  }
  if (development !== null) console.log(timingLines(development).join("\n"));
  if (only !== null) return 0;
  const met = held !== null && meetsTargets(held);
  console.log(
    `${HELD_BACK}: recall on unknown users at least ${100 * RECALL_MIN} %, no false invalid: ${met ? "met" : "NOT met"}`,
  );
  return met ? 0 : 1;
}

process.exitCode = main();
