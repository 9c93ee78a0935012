import { quantile } from "../../bench/report/figures.ts";
import type { Question } from "../chaos/traffic/asking.ts";

/** How a request is sent to the balancer: over a connection that is kept alive, or over a new one. */
export type ConnectionKind = "keep-alive" | "new connection";

/** One request as it went. */
export interface Sample {
  kind: ConnectionKind;
  /** Kind of request, e.g. `verify, cached`. */
  what: string;
  ms: number;
  /** Why it failed: a status that was not wanted, or what became of the connection; null: it did not. */
  failure: string | null;
}

/** One more question, counted as all are. @returns the answer's body; null: it failed, or had another status than `wanted` */
export type Ask = (
  what: string,
  question: Omit<Question, "key" | "timeoutMs" | "fresh">,
  wanted: number,
) => Promise<string | null>;

export interface Line {
  name: string;
  requests: number;
  failed: number;
  p50Ms: number;
  p99Ms: number;
}

/** A line for each value that `describeScope` gives, in the order in which they first come. */
export function linesBy(samples: readonly Sample[], nameOf: (sample: Sample) => string): Line[] {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const group = groups.get(nameOf(sample));
    if (group === undefined) groups.set(nameOf(sample), [sample]);
    else group.push(sample);
  }
  return [...groups].map(([name, group]) => {
    const ms = group.map((sample) => sample.ms);
    const failed = group.filter(({ failure }) => failure !== null).length;
    return { name, requests: group.length, failed, p50Ms: quantile(ms, 0.5), p99Ms: quantile(ms, 0.99) };
  });
}

/** Number of failed requests by cause. */
export function causesOf(samples: readonly Sample[]): Map<string, number> {
  const causes = new Map<string, number>();
  for (const { what, failure } of samples)
    if (failure !== null) {
      const cause = `${what}: ${failure}`;
      causes.set(cause, (causes.get(cause) ?? 0) + 1);
    }
  return causes;
}
