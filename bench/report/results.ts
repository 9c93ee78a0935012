import type { Machine } from "./machine.ts";
import { formatFigure, type Measured, targetRows } from "./report.ts";
import { renderSection } from "./table.ts";
import { outcomeOf } from "./target.ts";

/** All that `npm run bench` found, from which its files are made. */
export interface Results {
  machine: Machine;
  quick: boolean;
  tookS: number;
  measured: Measured[];
}

/** By path from the folder `bench`. */
export function renderResults(results: Results): Record<string, string> {
  return {
    "RESULTS.md": renderDocument(results),
    "results.json": renderJson(results),
  };
}

const targetsOf = ({ measured }: Results) => measured.flatMap(({ targets }) => targets);

/** A cell of a table in Markdown. */
export function escapeCell(text: string): string {
  return text.replaceAll(/[\\|<>*_`[\]]/g, (found) => `\\${found}`).replaceAll(/\s*\n\s*/g, " ");
}

function markdownTable(rows: readonly string[][]): string[] {
  const [head = [], ...rest] = rows.map((row) => `| ${row.map(escapeCell).join(" | ")} |`);
  return [String(head), `|${" --- |".repeat(rows[0]?.length ?? 0)}`, ...rest];
}

/** Plain text as it stands: the fence is longer than any in it. */
function fenced(text: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return [`${fence}text`, text.trimEnd(), fence];
}

function machineRows({ machine, quick, tookS }: Results): string[][] {
  const { processor, cores, memoryGib, system, node, postgres, redis, commit, date } = machine;
  return [
    ["", ""],
    ["processor", `${processor}, ${cores} cores`],
    ["memory", `${memoryGib} GiB`],
    ["system", system],
    ["Node.js", node],
    ["Postgres, Redis", `${postgres}, ${redis}`],
    ["source", commit],
    ["date", date],
    ["run", `${quick ? "quick" : "full"}, ${Math.round(tookS)} s`],
  ];
}

function sectionText({ name, section, failure, tookS, allowanceS }: Measured): string[] {
  const took = `\`${name}\`: ${Math.round(tookS)} s of ${allowanceS} s allowed.`;
  if (section === null)
    return [`### ${name}`, "", took, "", ...fenced(`not measured: ${failure ?? "nobody said why"}`), ""];
  return [`### ${section.title}`, "", took, "", ...fenced(renderSection(section)), ""];
}

function renderDocument(results: Results): string {
  const outcomes = targetsOf(results).map(outcomeOf);
  const count = (outcome: string) => outcomes.filter((found) => found === outcome).length;
  return [
    "# Results of the bench",
    "",
    "Written by `npm run bench -- --write`; what the lines mean is in [README.md](README.md). The same as data:",
    "[results.json](results.json).",
    "",
    ...markdownTable(machineRows(results)),
    "",
    `${count("reached")} targets reached, ${count("missed")} missed, ${count("void")} void.`,
    "",
    "## Targets",
    "",
    ...markdownTable(targetRows(targetsOf(results))),
    "",
    "## Sections",
    "",
    // The run as a whole is a target without a section.
    ...results.measured
      .filter(({ section, failure }) => section !== null || failure !== null)
      .flatMap(sectionText),
  ].join("\n");
}

function renderJson({ machine, quick, tookS, measured }: Results): string {
  const sections = measured.map(({ targets, section, ...told }) => ({
    ...told,
    tookS: Number(formatFigure(told.tookS, "").replaceAll(",", "")),
    section: section === null ? null : { ...section, targets: undefined },
    targets: targets.map((target) => ({ ...target, outcome: outcomeOf(target) })),
  }));
  return `${JSON.stringify({ machine, quick, tookS: Math.round(tookS), sections }, null, 2)}\n`;
}
