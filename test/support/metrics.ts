import assert from "node:assert/strict";

export interface Sample {
  /** Metric name; of a histogram with `_bucket`, `_sum` or `_count`. */
  name: string;
  labels: Record<string, string>;
  value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/gy;

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let end = 0;
  for (const { 0: whole, 1: name = "", 2: value = "", index } of text.matchAll(LABEL)) {
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
    end = index + whole.length;
  }
  assert.equal(end, text.length, `no labels of Prometheus' text: ${line}`);
  return labels;
}

/** Parses a process' metrics. @throws AssertionError for a line that is not in Prometheus' text format */
export function readMetrics(text: string): { samples: Sample[]; helped: Set<string>; typed: Set<string> } {
  const samples: Sample[] = [];
  const helped = new Set<string>();
  const typed = new Set<string>();
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, kind, name = ""] = /^# (HELP|TYPE) (\S+) \S/.exec(line) ?? [];
    if (kind !== undefined) {
      (kind === "HELP" ? helped : typed).add(name);
      continue;
    }
    const [, series = "", labels = "", value = ""] = SAMPLE.exec(line) ?? assert.fail(`no sample: ${line}`);
    samples.push({ name: series, labels: readLabels(labels, line), value: Number(value) });
  }
  return { samples, helped, typed };
}

/** Sum of the series' samples with these labels; null: no sample. */
export function valueIn(text: string, name: string, labels: Record<string, string> = {}): number | null {
  const wanted = Object.entries(labels);
  const found = readMetrics(text).samples.filter(
    (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
  );
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}
