import type { RawReply } from "./dialogue.ts";
import { EXPECTED, type Mailbox } from "./mail-server.ts";

/** What the service answered, as far as it is compared. */
export interface ServiceAnswer {
  verdict: string;
  reason: string;
  code: number;
  enhancedCode: string | null;
  mxHost: string | null;
}

export interface Comparison {
  server: string;
  mailbox: Mailbox;
  raw: RawReply;
  answer: ServiceAnswer;
  /** What differs, one phrase each; none: as expected. */
  differences: string[];
}

/** Holds an answer against what the mailbox is and against what its server said to us a moment before. */
export function compare(
  server: { name: string; host: string },
  mailbox: Mailbox,
  raw: RawReply,
  answer: ServiceAnswer,
): Comparison {
  const { verdict, reason } = EXPECTED[mailbox.kind];
  const pairs = [
    ["verdict", answer.verdict, verdict],
    ["reason", answer.reason, reason],
    ["code", answer.code, raw.code],
    ["enhanced code", answer.enhancedCode, raw.enhancedCode],
    ["MX host", answer.mxHost, server.host],
  ] as const;
  const differences = pairs
    .filter(([, is, should]) => is !== should)
    .map(([what, is, should]) => `${what} ${is ?? "none"}, not ${should ?? "none"}`);
  return { server: server.name, mailbox, raw, answer, differences };
}

const withEnhanced = ({ code, enhancedCode }: { code: number; enhancedCode: string | null }) =>
  enhancedCode === null ? String(code) : `${code} ${enhancedCode}`;

const HEADINGS = ["MTA", "address", "MTA said", "service: code", "verdict", "reason", "expected", ""];

function cells({ server, mailbox, raw, answer, differences }: Comparison): string[] {
  const { verdict, reason } = EXPECTED[mailbox.kind];
  return [
    server,
    mailbox.address,
    withEnhanced(raw),
    withEnhanced(answer),
    answer.verdict,
    answer.reason,
    `${verdict} (${reason})`,
    differences.length === 0 ? "ok" : `FAIL: ${differences.join("; ")}`,
  ];
}

/** The comparisons as a table for a terminal, one line each, below a line of headings. */
export function renderTable(comparisons: readonly Comparison[]): string[] {
  const rows = [HEADINGS, ...comparisons.map(cells)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
