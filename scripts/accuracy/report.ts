import type { SmtpClass } from "../../src/verification/evidence.ts";
import { type Labelled, normalised } from "../../test/corpus/labelled.ts";
import { confusion, type Figures, figuresOf, type Judged, judge, type Share } from "./figures.ts";

const CLASSES: readonly SmtpClass[] = [
  "accepted",
  "mailbox_not_found",
  "mailbox_disabled",
  "mailbox_full",
  "refused_by_policy",
  "sender_blocked",
  "greylisted",
  "rate_limited_by_server",
  "smtp_protocol_error",
  "no_connect",
];

const percent = ({ hits, of }: Share) =>
  of === 0 ? "none" : `${hits} of ${of} (${((100 * hits) / of).toFixed(1)} %)`;

function matrixLines(judged: readonly Judged[]): string[] {
  const matrix = confusion(judged);
  const width = 8;
  const head = CLASSES.map((_, i) => String.fromCharCode(97 + i).padStart(width)).join("");
  const rows = CLASSES.filter((label) => matrix.has(label)).map((label) => {
    const counts = CLASSES.map((given) => matrix.get(label)?.get(given) ?? 0);
    const cells = counts.map((count) => (count === 0 ? "." : String(count)).padStart(width)).join("");
    return `  ${String.fromCharCode(97 + CLASSES.indexOf(label))} ${label.padEnd(24)}${cells}`;
  });
  return [`    ${"labelled \\ given".padEnd(24)}${head}`, ...rows];
}

function figureLines(title: string, figures: Figures): string[] {
  return [
    `  ${title}`,
    `    recall on unknown users        ${percent(figures.unknownUsers)}`,
    `    unknown or disabled: invalid   ${percent(figures.condemned)}`,
    `    recall on recipient faults     ${percent(figures.recipientFaults)}`,
    `    false invalid                  ${figures.falseInvalid.length}`,
    `    full or accepted: invalid      ${figures.livingCondemned.length}`,
    `    exactly the label              ${percent(figures.exact)}`,
  ];
}

/** Rows that do not stand word for word among those by which rules were or might have been written. */
function freshOf(rows: readonly Labelled[], seen: readonly Labelled[]): Labelled[] {
  const known = new Set(seen.map((row) => normalised(row.lines)));
  return rows.filter((row) => !known.has(normalised(row.lines)));
}

function titleOf(name: string, rows: readonly Labelled[]): string {
  const servers = new Set(rows.map(({ server }) => server.toLowerCase()).filter((server) => server !== ""));
  return `${name}: ${rows.length} replies of ${servers.size} providers and MTAs`;
}

/** Figures of both knowledges of the provider, and of the rows that are fresh. */
function allFigures(
  rows: readonly Labelled[],
  judged: readonly Judged[],
  fresh: readonly Labelled[],
): string[] {
  return [
    ...figureLines("provider known", figuresOf(judged)),
    ...figureLines("provider unknown", figuresOf(judge(rows, false))),
    ...(fresh.length === rows.length
      ? []
      : [
          `  ${rows.length - fresh.length} of its rows stand word for word in what rules were written by`,
          ...figureLines("without those, provider known", figuresOf(judge(fresh, true))),
          ...figureLines("without those, provider unknown", figuresOf(judge(fresh, false))),
        ]),
  ];
}

export interface Report {
  lines: string[];
  figures: Figures;
  judged: Judged[];
}

/**
 * The report on one corpus, without any reply; it includes the figures with known providers.
 * @param seen rows that the rules were or may have been written by: figures are also given without them
 */
export function reportOf(name: string, rows: readonly Labelled[], seen: readonly Labelled[]): Report {
  const judged = judge(rows, true);
  const lines = [
    titleOf(name, rows),
    ...matrixLines(judged),
    ...allFigures(rows, judged, freshOf(rows, seen)),
  ];
  return { lines, figures: figuresOf(judged), judged };
}

/** For each class, the share of its replies that were given that class. */
function recallLines(judged: readonly Judged[]): string[] {
  return CLASSES.flatMap((label) => {
    const of = judged.filter(({ row }) => row.label === label);
    const hits = of.filter(({ given }) => given === label).length;
    return of.length === 0 ? [] : [`    ${label.padEnd(31)}${percent({ hits, of: of.length })}`];
  });
}

/** By source, how many of its rows are known already, as `source known/rows`; several to a line. */
function sourceLines(rows: readonly Labelled[], fresh: readonly Labelled[]): string[] {
  const sources = [...new Set(rows.map(({ source }) => source))].sort();
  const count = (some: readonly Labelled[], source: string) =>
    some.filter((row) => row.source === source).length;
  const cells = sources.map((source) => {
    const all = count(rows, source);
    return `${source} ${all - count(fresh, source)}/${all}`;
  });
  const lines: string[] = [];
  for (let i = 0; i < cells.length; i += 5) lines.push(`    ${cells.slice(i, i + 5).join(", ")}`);
  return lines;
}

/**
 * The report on a blind corpus before it is opened: sums only, so that nothing points at a reply or at its
 * classification.
 */
export function blindReportOf(name: string, rows: readonly Labelled[], seen: readonly Labelled[]): Report {
  const judged = judge(rows, true);
  const fresh = freshOf(rows, seen);
  const lines = [
    titleOf(name, rows),
    "  recall by class, provider known",
    ...recallLines(judged),
    ...allFigures(rows, judged, fresh),
    "  by source, rows that stand word for word in the development half or an opened corpus",
    ...sourceLines(rows, fresh),
  ];
  return { lines, figures: figuresOf(judged), judged };
}

/** Each row that was not given its label, with its reply; only for readers who may see the replies. */
export function missLines(judged: readonly Judged[]): string[] {
  return judged
    .filter(({ row, given }) => row.label !== given)
    .map(
      ({ row, given, rule }) => `  ${row.line}: ${row.label} -> ${given} (${rule}) ${row.lines.join(" / ")}`,
    );
}
