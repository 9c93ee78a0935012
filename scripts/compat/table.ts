/** Outcome of a run against one server. */
export interface Outcome {
  name: string;
  version: string;
  passed: number;
  /** Failed tests, without known failures. */
  failed: number;
  /** Failed tests that are known to fail. */
  known: number;
  seconds: number;
  /** `2026-11-28`, UTC. */
  date: string;
}

export const HEADER = [
  "| server | version | passed | failed | seconds | run on |",
  "|---|---|--:|--:|--:|---|",
];

/** Its line of the table in docs/compatibility.md. */
export function lineOf({ name, version, passed, failed, known, seconds, date }: Outcome): string {
  const failures = known === 0 ? String(failed) : `${failed} + ${known} known`;
  return `| \`${name}\` | ${version} | ${passed} | ${failures} | ${seconds} | ${date} |`;
}

/** The page with the lines of these outcomes in place of the old ones. @throws Error for a server that has no line yet */
export function withLines(page: string, outcomes: readonly Outcome[]): string {
  const lines = page.split("\n");
  for (const outcome of outcomes) {
    const at = lines.findIndex((line) => line.startsWith(`| \`${outcome.name}\` |`));
    if (at < 0) throw new Error(`docs/compatibility.md has no line of ${outcome.name}`);
    lines[at] = lineOf(outcome);
  }
  return lines.join("\n");
}

/**
 * Totals in the output of the test runner; null: it ended before it printed them.
 * @param knownFailures names of tests
 */
export function totalsOf(
  output: string,
  knownFailures: readonly string[],
): Pick<Outcome, "passed" | "failed" | "known"> | null {
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(output) ?? [];
  if (passed === undefined) return null;
  const failures = output.split("\n").filter((line) => line.startsWith("not ok "));
  const known = knownFailures.filter((name) => failures.some((line) => line.endsWith(` ${name}`))).length;
  return { passed: Number(passed), failed: Number(failed) - known, known };
}
