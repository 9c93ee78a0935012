import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createReadiness, type Probes } from "../../../src/platform/readiness.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const up = async () => {};
const down = async () => {
  throw new Error("gone");
};

function readiness(changes: Partial<Probes>, isDraining = () => false) {
  const clock = createFakeClock();
  const probes: Probes = { postgres: up, redis: up, objects: up, checks: up, ...changes };
  return { clock, ask: createReadiness({ probes, clock, metrics: createMetrics(), isDraining }) };
}

describe("readiness", () => {
  it("is ready when all answer", async () => {
    assert.equal((await readiness({}).ask()).status, "ready");
  });

  it("is unavailable without Postgres or the check threads", async () => {
    for (const name of ["postgres", "checks"] as const) {
      const report = await readiness({ [name]: down }).ask();
      assert.deepEqual([report.status, report.dependencies[name]], ["unavailable", "down"]);
    }
  });

  it("is degraded, and serves on, without Redis or object storage", async () => {
    for (const name of ["redis", "objects"] as const) {
      const report = await readiness({ [name]: down }).ask();
      assert.deepEqual([report.status, report.dependencies[name]], ["degraded", "down"]);
    }
  });

  it("does not miss what is not configured", async () => {
    const report = await readiness({ objects: null }).ask();
    assert.deepEqual([report.status, report.dependencies.objects], ["ready", "unconfigured"]);
  });

  it("calls what stays silent down", async () => {
    const { ask, clock } = readiness({ postgres: () => new Promise(() => {}) });
    const report = ask();
    await clock.advanceAsync(LIMITS.readiness.timeoutMs);
    assert.equal((await report).dependencies.postgres, "down");
  });

  it("asks once for many callers, and again when the answer has aged", async () => {
    let asked = 0;
    const { ask, clock } = readiness({
      postgres: async () => {
        asked += 1;
      },
    });
    await Promise.all(Array.from({ length: 50 }, ask));
    assert.equal(asked, 1);
    clock.advance(LIMITS.readiness.freshMs);
    await ask();
    assert.equal(asked, 2);
  });

  it("says that it drains, at once, whatever its dependencies do by then", async () => {
    let draining = false;
    let answers = true;
    const postgres = () => (answers ? up() : new Promise<void>(() => {}));
    const { ask, clock } = readiness({ postgres }, () => draining);
    assert.equal((await ask()).status, "ready");
    draining = true;
    answers = false;
    clock.advance(LIMITS.readiness.freshMs);
    const report = await ask();
    assert.deepEqual([report.status, report.dependencies.postgres], ["draining", "ok"]);
  });

  it("asks once where it drains before anybody had asked", async () => {
    const report = await readiness({ redis: down }, () => true).ask();
    assert.deepEqual([report.status, report.dependencies.redis], ["draining", "down"]);
  });
});
