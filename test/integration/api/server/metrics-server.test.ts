import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMetricsServer, type ProcessState } from "../../../../src/api/server/metrics-server.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { exchange } from "../harness.ts";

describe("the metrics server", () => {
  const { registry, httpRequests } = createMetrics();
  const log = createLog("silent");
  let state: ProcessState = "starting";
  const server = createMetricsServer({
    registry,
    log,
    config: { metricsHost: "127.0.0.1", metricsPort: 0 },
    state: () => state,
    preflight: () => ({ ways: [], pending: ["direct"] }),
  });
  let port = 0;
  before(async () => {
    ({ port } = await server.listen());
  });
  after(() => server.close());
  const ask = (line: string) => exchange(port, [`${line} HTTP/1.1`, "Connection: close"]);

  it("serves the registry", async () => {
    httpRequests.inc({ route: "/v1/verify", method: "GET", status: 200 });
    const url = `http://127.0.0.1:${port}/metrics`;
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain/);
    assert.match(
      await response.text(),
      /rcpt_http_requests_total\{route="\/v1\/verify",method="GET",status="200"\} 1/,
    );
  });

  it("serves the preflight's findings, which must not be cached", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/preflight`);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(await response.json(), { ways: [], pending: ["direct"] });
  });

  it("has no preflight in a role that does not probe", async () => {
    const config = { metricsHost: "127.0.0.1", metricsPort: 0 };
    const relay = createMetricsServer({ registry, log, config, state: () => "ready", preflight: null });
    const listening = await relay.listen();
    assert.equal((await fetch(`http://127.0.0.1:${listening.port}/preflight`)).status, 404);
    await relay.close();
  });

  it("serves whether the process is ready: once it has started, until it drains", async () => {
    const answers: unknown[] = [];
    for (state of ["starting", "ready", "draining"] as const) {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`);
      assert.equal(response.headers.get("cache-control"), "no-store");
      answers.push(response.status, await response.json());
    }
    assert.deepEqual(answers, [
      503,
      { status: "starting" },
      200,
      { status: "ready" },
      503,
      { status: "draining" },
    ]);
  });

  it("serves /healthz, nothing else, and only to be read", async () => {
    assert.equal((await ask("GET /healthz")).status, 200);
    assert.equal((await ask("GET /")).status, 404);
    const posted = await ask("POST /metrics");
    assert.deepEqual([posted.status, posted.headers.allow], [405, "GET, HEAD"]);
  });

  it("says so when its port is taken", async () => {
    const second = createMetricsServer({
      registry,
      log,
      config: { metricsHost: "127.0.0.1", metricsPort: port },
      state: () => "ready",
      preflight: null,
    });
    await assert.rejects(second.listen(), { code: "EADDRINUSE" });
  });
});
