import type { SmtpClass } from "../../src/check/evidence.ts";
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

/**
 * What one corpus shows, for a reader; names no reply. Also its figures with providers known.
 * @param seen rows by which rules were or might have been written: figures are also given without them
 */
export function reportOf(
  name: string,
  rows: readonly Labelled[],
  seen: readonly Labelled[],
): { lines: string[]; figures: Figures; judged: Judged[] } {
  const judged = judge(rows, true);
  const figures = figuresOf(judged);
  const servers = new Set(rows.map(({ server }) => server.toLowerCase()).filter((server) => server !== ""));
  const lines = [
    `${name}: ${rows.length} replies of ${servers.size} providers and MTAs`,
    ...matrixLines(judged),
    ...figureLines("provider known", figures),
    ...figureLines("provider unknown", figuresOf(judge(rows, false))),
  ];
  if (seen.length > 0) {
    const known = new Set(seen.map((row) => normalised(row.lines)));
    const fresh = rows.filter((row) => !known.has(normalised(row.lines)));
    lines.push(
      `  ${rows.length - fresh.length} of its rows stand word for word in what rules were written by`,
      ...figureLines("without those, provider known", figuresOf(judge(fresh, true))),
      ...figureLines("without those, provider unknown", figuresOf(judge(fresh, false))),
    );
  }
  return { lines, figures, judged };
}

/** Each row that was not given its label; only for who may see the replies. */
export function missLines(judged: readonly Judged[]): string[] {
  return judged
    .filter(({ row, given }) => row.label !== given)
    .map(
      ({ row, given, rule }) => `  ${row.line}: ${row.label} -> ${given} (${rule}) ${row.lines.join(" / ")}`,
    );
}
