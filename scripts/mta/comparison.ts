import { inColumns } from "../../bench/report/table.ts";
import type { RawReply } from "./dialogue.ts";
import { EXPECTED, type Kind } from "./mail-server.ts";

/** Fields of the service's answer that are compared or shown. */
export interface ServiceAnswer {
  verdict: string;
  reason: string;
  code: number;
  enhancedCode: string | null;
  mxHost: string | null;
  /** Stage of the SMTP dialogue that gave the answer, and the rule that decided. */
  stage: string | null;
  rule: string | null;
}

/** The subject of a line of the matrix. */
export interface Cell {
  server: string;
  situation: string;
  kind: Kind;
  address: string;
  /** The MX host that must have been asked. */
  host: string;
}

export interface Comparison extends Cell {
  /** The server's reply to us; null where no comparable question was asked. */
  raw: RawReply | null;
  answer: ServiceAnswer;
  /** One phrase for each difference; empty: as expected. */
  differences: string[];
}

/** Compares an answer with the mailbox' kind, and with the reply that its server gave us a moment before. */
export function compare(cell: Cell, raw: RawReply | null, answer: ServiceAnswer): Comparison {
  const { verdict, reasons } = EXPECTED[cell.kind];
  const known: readonly string[] = reasons;
  const pairs: [string, string | number | null, string | number | null][] = [
    ["verdict", answer.verdict, verdict],
    ["reason", answer.reason, known.includes(answer.reason) ? answer.reason : known.join(" or ")],
    ["MX host", answer.mxHost, cell.host],
  ];
  if (raw !== null)
    pairs.push(["code", answer.code, raw.code], ["enhanced code", answer.enhancedCode, raw.enhancedCode]);
  const differences = pairs
    .filter(([, is, should]) => is !== should)
    .map(([what, is, should]) => `${what} ${is ?? "none"}, not ${should ?? "none"}`);
  return { ...cell, raw, answer, differences };
}

const withEnhanced = ({ code, enhancedCode }: { code: number; enhancedCode: string | null }) =>
  enhancedCode === null ? String(code) : `${code} ${enhancedCode}`;

const HEADINGS = ["MTA", "situation", "MTA said", "expected", "seen", ""];

function cells({ server, situation, kind, raw, answer, differences }: Comparison): string[] {
  const { verdict, reasons } = EXPECTED[kind];
  return [
    server,
    situation,
    raw === null ? "" : `${withEnhanced(raw)} to ${raw.to}`,
    `${verdict}/${reasons.join("|")}`,
    `${answer.verdict}/${answer.reason}`,
    differences.length === 0 ? "ok" : `FAIL: ${differences.join("; ")}`,
  ];
}

/** The comparisons as a table, one line each, below a line of headings. */
export function renderTable(comparisons: readonly Comparison[]): string[] {
  return inColumns([HEADINGS, ...comparisons.map(cells)]);
}

/** Each server's verbatim reply to us, and the rule by which the service decided. */
export function renderDetails(comparisons: readonly Comparison[]): string[] {
  return comparisons.flatMap(({ server, situation, address, raw, answer }) => [
    `${server}, ${situation}: <${address}>`,
    ...(raw === null ? [] : raw.lines.map((line) => `    ${line}`)),
    `    -> ${answer.verdict}/${answer.reason}, by ${answer.rule ?? "no rule"} at ${answer.stage ?? "no stage"}`,
  ]);
}
