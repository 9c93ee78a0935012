import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import type { Expectation } from "../../test/support/mail-world/behaviours.ts";

/** One address of the demo: what its server does, what was answered, and how long that took. */
export interface Row {
  expectation: Expectation;
  result: VerificationResult;
  ms: number;
}

const COLUMNS = [
  ["address", 34],
  ["verdict", 8],
  ["reason", 22],
  ["ms", 5],
  ["evidence", 0],
] as const;
const EVIDENCE_CHARS = 90;

function line(cells: string[]): string {
  return COLUMNS.map(([, width], i) => (cells[i] ?? "").padEnd(width))
    .join(" ")
    .trimEnd();
}

export function tableHead(): string {
  const names = line(COLUMNS.map(([name]) => name));
  return `${names}\n${"-".repeat(names.length + EVIDENCE_CHARS / 2)}`;
}

/**
 * True when the answer is as expected. A server that holds the client until the deadline may be answered `deadline`.
 */
export function isAsExpected({ expectation, result }: Row): boolean {
  if (expectation.holds === true && result.reason === "deadline") return true;
  const { verdict, reason } = expectation.expected;
  return result.verdict === verdict && result.reason === reason;
}

/** The evidence behind the verdict: the reply and its rule, else the DNS answer. */
function evidenceOf({ checks, evidence, reason }: VerificationResult): string {
  if (reason === "deadline") return "no answer yet; the probe goes on";
  if (!evidence) return checks.mx.status === "ok" ? "" : `DNS: ${checks.mx.status}`;
  const { catch_all: catchAll } = checks.smtp;
  const probe = catchAll === "not_probed" ? "" : `; a random address: ${catchAll}`;
  return `${evidence.stage}: ${evidence.reply || "silence"}${probe}`;
}

export function formatRow(row: Row): string {
  const { expectation, result, ms } = row;
  const evidence = evidenceOf(result).slice(0, EVIDENCE_CHARS);
  const text = line([expectation.address, result.verdict, result.reason, String(Math.round(ms)), evidence]);
  if (isAsExpected(row)) return text;
  return `${text}\n    ^ expected ${expectation.expected.verdict} ${expectation.expected.reason}: ${expectation.why}`;
}

/** Counts by verdict, and the rows that differ from what the world knows. */
export function summarise(rows: readonly Row[]): { text: string; surprises: number } {
  const counts = new Map<string, number>();
  for (const { result } of rows) counts.set(result.verdict, (counts.get(result.verdict) ?? 0) + 1);
  const byVerdict = [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(", ");
  const surprises = rows.filter((row) => !isAsExpected(row)).length;
  const held = rows.filter(({ result }) => result.reason === "deadline").length;
  const text = [
    `\n${rows.length} addresses: ${byVerdict}.`,
    `${held} held the line to the deadline; those probes go on and fill the cache.`,
    surprises === 0
      ? "Every answer is what the world knows."
      : `${surprises} differ from what the world knows.`,
  ].join("\n");
  return { text, surprises };
}
