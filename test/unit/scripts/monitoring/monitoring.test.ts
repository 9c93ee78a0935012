import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { renderDashboard } from "../../../../scripts/monitoring/dashboard.ts";
import {
  queriesOf,
  type Rule,
  readRules,
  readRuleTests,
  seriesIn,
} from "../../../../scripts/monitoring/rules.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");
const FOLDER = join(ROOT, "k8s/components/monitoring");
const rules: Rule[] = readRules(join(FOLDER, "rules.yaml")).flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const recorded = new Set(rules.flatMap(({ record }) => (record === undefined ? [] : [record])));
const committed = readFileSync(join(FOLDER, "dashboard.json"), "utf8");
const dashboard = JSON.parse(committed) as Parameters<typeof queriesOf>[0];
const runbook = readFileSync(join(ROOT, "docs/runbook.md"), "utf8");

/** The table that a test of its own holds to the registry. */
const documented = new Set(readFileSync(join(ROOT, "docs/metrics.md"), "utf8").match(/\brcpt_[a-z0-9_]+/g));
/** Metrics of Node.js' own client, the kubelet and kube-state-metrics. */
const OF_OTHERS = new Set([
  ...["process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"],
  ...["process_open_fds", "process_max_fds", "nodejs_eventloop_lag_p99_seconds"],
  ...["container_memory_rss", "container_spec_memory_limit_bytes"],
  ...["kube_deployment_spec_replicas", "kube_deployment_status_replicas_available"],
  "kube_pod_container_status_restarts_total",
  "kube_horizontalpodautoscaler_status_current_replicas",
  "kube_horizontalpodautoscaler_spec_max_replicas",
  "kube_horizontalpodautoscaler_status_condition",
  ...["kube_job_created", "kube_job_failed", "kube_job_complete"],
]);

const isKnown = (name: string) => documented.has(name) || recorded.has(name) || OF_OTHERS.has(name);

describe("series in a query", () => {
  it("are found by name, a histogram's by the name of it", () => {
    assert.deepEqual(
      seriesIn('sum by (le, kind) (rate(rcpt_a_seconds_bucket{kind="rcpt_b"}[5m])) > rcpt:c:rate5m'),
      ["rcpt_a_seconds", "rcpt:c:rate5m"],
    );
  });
});

describe("alerts", () => {
  it("are there, and rest on series that exist", () => {
    assert.ok(alerts.length > 20);
    for (const { alert, record, expr } of rules) {
      const series = seriesIn(expr);
      assert.ok(series.length > 0, `${alert ?? record}: no series`);
      for (const name of series) assert.ok(isKnown(name), `${alert ?? record}: ${name} does not exist`);
    }
  });

  it("say how bad it is, what it is, and where to read what to do", () => {
    for (const { alert = "", labels, annotations } of alerts) {
      assert.match(labels?.severity ?? "", /^(critical|warning|info)$/, alert);
      assert.ok((annotations?.summary ?? "").length > 10, alert);
      assert.ok(annotations?.runbook?.endsWith(` docs/runbook.md#${alert.toLowerCase()}`), alert);
    }
  });

  it("have a section of the runbook each, and it has no other", () => {
    const sections = [...runbook.matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
    assert.deepEqual(sections.sort(), alerts.map(({ alert }) => alert).sort());
  });

  it("are each shown to fire", () => {
    const { tests } = readRuleTests(join(FOLDER, "rules.test.yaml"), "rules.json");
    const fired = tests
      .flatMap((test) => test.alert_rule_test)
      .filter(({ exp_alerts }) => exp_alerts.length > 0);
    assert.deepEqual(
      [...new Set(fired.map(({ alertname }) => alertname))].sort(),
      alerts.map(({ alert }) => alert).sort(),
    );
  });
});

describe("the dashboard", () => {
  it("is the one that `npm run monitoring -- --write` writes", () =>
    assert.equal(committed, renderDashboard()));

  it("shows series that exist", () => {
    const queries = queriesOf(dashboard);
    assert.ok(queries.length > 30);
    for (const expr of queries)
      for (const name of seriesIn(expr)) assert.ok(isKnown(name), `${name} does not exist: ${expr}`);
  });

  it("has panels that do not lie on each other", () => {
    const taken = new Map<string, string>();
    const { panels } = JSON.parse(committed) as {
      panels: { title: string; gridPos: { x: number; y: number; w: number; h: number } }[];
    };
    for (const { title, gridPos } of panels) {
      assert.ok(gridPos.x + gridPos.w <= 24, title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.equal(taken.get(`${x} ${y}`), undefined, `${title} lies on ${taken.get(`${x} ${y}`)}`);
          taken.set(`${x} ${y}`, title);
        }
    }
  });
});
