import type { VerificationResult } from "../../verify/answer/verification-result.ts";
import type { BatchAnswer } from "../../verify/batch/examine-batch.ts";
import type { RowsOutcome } from "../schedule/job-tasks.ts";
import { type AnsweredRows, forEachResult } from "./answered-rows.ts";
import type { TaskReport } from "./task-report.ts";

/** Reports the numbers of a task's rows: answers, and waiting rows by reason. */
export function reportRows(
  report: TaskReport,
  answered: AnsweredRows,
  { counts, deferrals }: RowsOutcome,
): void {
  const { valid, invalid, risky, unknown, charged } = counts;
  const ways = { cached: 0, probed: 0, unasked: 0 };
  forEachResult(answered, (result, count) => {
    ways[answerSourceOf(result)] += count;
  });
  report.add({ ...{ valid, invalid, risky, unknown, charged }, ...ways, deferred: 0 });
  for (const { reason, rowCount } of deferrals)
    report.add({ deferred: rowCount, [`deferred_${reason}`]: rowCount });
}

function answerSourceOf({ cached, checks }: VerificationResult): "cached" | "probed" | "unasked" {
  if (cached) return "cached";
  return checks.smtp.status === "skipped" ? "unasked" : "probed";
}

/** Sums up the probes of a task whose job is traced: a span for each would be thousands. */
export class ProbeSummary {
  readonly #classes = new Map<string, number>();
  #slowest: { host: string | null; ms: number } | null = null;

  /** @param domain of the row: the name of its slowest server is not recorded where it is the same */
  onAnswer({ finding }: BatchAnswer, domain: string): void {
    const smtp = finding === undefined || finding.cached ? null : (finding.entry?.evidence.smtp ?? null);
    if (smtp === null) return;
    this.#classes.set(smtp.class, (this.#classes.get(smtp.class) ?? 0) + 1);
    if (smtp.latencyMs <= (this.#slowest?.ms ?? -1)) return;
    this.#slowest = { host: smtp.mxHost === domain ? null : smtp.mxHost, ms: smtp.latencyMs };
  }

  addTo({ span }: TaskReport): void {
    if (span === null) return;
    for (const [name, count] of this.#classes) span.set({ [`rcpt.probes.${name}`]: count });
    if (this.#slowest === null) return;
    const { host, ms } = this.#slowest;
    span.set({ "rcpt.slowest.ms": ms, ...(host === null ? {} : { "rcpt.slowest.host": host }) });
  }
}
