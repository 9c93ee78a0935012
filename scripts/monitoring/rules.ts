import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** The alerts and recording rules as deployed, and their documentation elsewhere. */

export interface Rule {
  /** One of the two is there. */
  alert?: string;
  record?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface RuleGroup {
  name: string;
  rules: Rule[];
}

/** `spec.groups` of the PrometheusRule in `file`. @throws Error when it has another kind */
export function readRules(file: string): RuleGroup[] {
  const document = parse(readFileSync(file, "utf8")) as {
    kind?: string;
    spec?: { groups?: RuleGroup[] };
  } | null;
  if (document?.kind !== "PrometheusRule" || !Array.isArray(document.spec?.groups))
    throw new Error(`${file} holds no PrometheusRule`);
  return document.spec.groups;
}

/** The tests of the rules, in promtool's form, for rules that lie in `rulesFile`. */
export function readRuleTests(file: string, rulesFile: string): { rule_files: string[]; tests: RuleTest[] } {
  const document = parse(readFileSync(file, "utf8"), { merge: true }) as { tests: RuleTest[] };
  return { ...document, rule_files: [rulesFile] };
}

export interface RuleTest {
  alert_rule_test: { alertname: string; exp_alerts: object[] }[];
}

interface Panel {
  targets?: { expr: string }[];
}

/** Every query of a dashboard, with Grafana's variables replaced as Grafana would. */
export function queriesOf(dashboard: { panels: Panel[] }): string[] {
  return dashboard.panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m").replaceAll("$namespace", ".+")),
  );
}

/** Names of series in a query: its own words, what Prometheus made of a histogram by the name of that. */
export function seriesIn(expr: string): string[] {
  const withoutText = expr.replaceAll(/"[^"]*"/g, '""').replaceAll(/\{[^}]*\}/g, "");
  const names = withoutText.match(/\b(?:rcpt[:_]|process_|nodejs_|container_|kube_)[a-z0-9_:]+/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, "")))];
}
