// npm run accuracy [-- --open development] [-- --only development]
//
// Measures how well the rules classify replies, by corpus and its state (test/corpus/README.md). Of a blind corpus it
// prints sums only. It prints replies of a corpus only if --open names it: then each misclassified reply, and the corpus
// is no longer blind.
// Exit code: 0 the held-back half meets the targets; 1 it does not, or is missing.
import { basename } from "node:path";
import { parseArgs } from "node:util";
import {
  BLIND,
  CORPUS_NAMES,
  type CorpusName,
  type Labelled,
  OPENED,
  readCorpus,
} from "../test/corpus/labelled.ts";
import type { Figures } from "./accuracy/figures.ts";
import { blindReportOf, missLines, reportOf } from "./accuracy/report.ts";
import { timingLines } from "./accuracy/timing.ts";

/** The corpus that decides; see test/corpus/README.md. */
const HELD_BACK: CorpusName = "blind-d";
const RECALL_MIN = 0.97;

const isBlind = (name: CorpusName) => BLIND.some((blind) => blind === name);

/** Whether the rules were written with knowledge of the corpus. */
function stateOf(name: CorpusName): string {
  if (name === HELD_BACK) return "blind, held back";
  if (isBlind(name)) return "blind";
  return OPENED.some((opened) => opened === name) ? "opened: proves nothing" : "rules are written by it";
}

/** The rows by which rules were written, or might have been, before `name` was read. */
function seenBefore(name: CorpusName): Labelled[] {
  const before = name === "development" ? [] : isBlind(name) ? ["development", ...OPENED] : ["development"];
  return CORPUS_NAMES.filter((other) => before.includes(other)).flatMap((other) => readCorpus(other) ?? []);
}

function meetsTargets(figures: Figures): boolean {
  const { hits, of } = figures.unknownUsers;
  return of > 0 && hits / of >= RECALL_MIN && figures.falseInvalid.length === 0;
}

/** A corpus by its name or its file. */
function named(option: string | undefined): CorpusName | null {
  if (option === undefined) return null;
  const name = CORPUS_NAMES.find((candidate) => candidate === basename(option, ".tsv"));
  if (name === undefined) throw new Error(`${option} is none of ${CORPUS_NAMES.join(", ")}`);
  return name;
}

function main(): number {
  const { values } = parseArgs({ options: { open: { type: "string" }, only: { type: "string" } } });
  const open = named(values.open);
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
    const report = isBlind(name) && open !== name ? blindReportOf : reportOf;
    const { lines, figures, judged } = report(name, rows, seenBefore(name));
    console.log(`[${stateOf(name)}] ${lines.join("\n")}`);
    if (open === name) console.log(missLines(judged).join("\n"));
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
