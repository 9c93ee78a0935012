import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import {
  createMetrics,
  observeEngine,
  observeWorkQueues,
} from "../../../../src/platform/telemetry/metrics.ts";

const ROLES = new Set(["all", "api", "bulk", "relay"]);

interface Row {
  name: string;
  type: string;
  labels: string[];
  roles: string[];
  meaning: string;
}

function documented(): Row[] {
  const text = readFileSync(resolve(import.meta.dirname, "../../../../docs/metrics.md"), "utf8");
  return [...text.matchAll(/^\| `(rcpt_\w+)` \| (\w+) \| (.*?) ?\| (.*?) \| (.*?) \|$/gm)].map(
    ([, name = "", type = "", labels = "", roles = "", meaning = ""]) => ({
      ...{ name, type, meaning },
      labels: labels.split(", ").filter((label) => label !== ""),
      roles: roles.split(", "),
    }),
  );
}

/** Every series of ours that any process may have. */
async function registered() {
  const metrics = createMetrics();
  observeEngine(metrics, () => assert.fail("nobody scrapes"));
  observeWorkQueues(metrics, []);
  const ours = metrics.registry.getMetricsAsArray() as unknown as {
    name: string;
    help: string;
    type: string;
    labelNames: readonly string[];
  }[];
  return ours
    .filter(({ name }) => !/^(?:nodejs|process)_/.test(name))
    .map(({ name, help, type, labelNames }) => ({ name, help, type, labels: [...labelNames] }));
}

describe("docs/metrics.md", () => {
  it("has every series, with its type and labels, and no other", async () => {
    const inDocs = documented().map(({ name, type, labels }) => `${name} ${type} ${labels}`);
    const inCode = (await registered()).map(({ name, type, labels }) => `${name} ${type} ${labels}`);
    assert.ok(inCode.length > 50);
    assert.deepEqual(inDocs.sort(), inCode.sort());
  });

  it("documents for each the role that sets it, and its meaning", () => {
    for (const { name, roles, meaning } of documented()) {
      assert.ok(meaning.length > 5, name);
      for (const role of roles) assert.ok(ROLES.has(role), `${name}: ${role}`);
    }
  });
});

describe("a series", () => {
  it("is named as Prometheus would have it: ours, units in full, counters as totals", async () => {
    for (const { name, type, help } of await registered()) {
      assert.match(name, /^rcpt_[a-z][a-z_]*[a-z]$/);
      assert.equal(name.endsWith("_total"), type === "counter", name);
      assert.doesNotMatch(name, /_(?:ms|s|millis|secs?)$/);
      assert.ok(help.length > 10 && /^[A-Z0-9].*\.$/.test(help), `${name}: ${help}`);
    }
  });
});
