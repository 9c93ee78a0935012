import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { jobSpanRef } from "../../../src/platform/telemetry/trace-context.ts";
import { VERSION } from "../../../src/platform/version.ts";
import { ended, submitted } from "../../support/bulk.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** The spans of requests and jobs that a collector gets, and that no request waits for it. */
const closing = createClosing();
let deployment: TestDeployment;
let collector: OtlpReceiver;
let api: TestApi;
let team: Team;

const PARENT = "00f067aa0ba902b7";
let traces = 0;

/** A `traceparent` of a trace that no other test has. */
function newParent(flags: "00" | "01") {
  traces += 1;
  const traceId = traces.toString(16).padStart(32, "a");
  return { traceId, headers: { traceparent: `00-${traceId}-${PARENT}-${flags}` } };
}

function verify(of: TestApi, email: string, headers: Record<string, string>) {
  return of.send("GET", `/v1/verify?email=${encodeURIComponent(email)}`, { key: team.liveKey, headers });
}

/** The spans of a trace by their names, once the last of them has come. */
async function spansOf(traceId: string, last: string): Promise<Map<string, ReceivedSpan>> {
  await until(`the span ${last} of ${traceId} has come`, () =>
    collector.spans.some((span) => span.traceId === traceId && span.name === last),
  );
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  return new Map(spans.map((span) => [span.name, span]));
}

function parentOf(spans: Map<string, ReceivedSpan>, name: string): string | undefined {
  const { parentSpanId } = spans.get(name) ?? assert.fail(`there is no span ${name}: ${[...spans.keys()]}`);
  return [...spans.values()].find(({ spanId }) => spanId === parentSpanId)?.name ?? parentSpanId;
}

/** No span has come since there were `before`, but of a request that is sent here: what comes behind was sent behind. */
async function nothingCame(before: number): Promise<void> {
  const { traceId, headers } = newParent("01");
  await verify(api, "exists3@plain.test", headers);
  await spansOf(traceId, "GET /v1/verify");
  const others = collector.spans.slice(before).filter((span) => span.traceId !== traceId);
  assert.deepEqual(others, []);
}

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  collector = await startOtlpReceiver();
  closing.after(() => collector.close());
  const traced = (ratio: string) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: "x-token=s%3Decret",
    OTEL_SERVICE_NAME: "rcpt-test",
    OTEL_TRACES_SAMPLER_ARG: ratio,
  });
  [api] = await Promise.all([
    deployment.startApi(traced("0")),
    deployment.startRelay(),
    deployment.startBulk(traced("1")),
  ]);
  team = await deployment.team("enterprise");
});
after(closing.close);

describe("traces of requests", () => {
  it("show a request, its check and what that asked, as part of the trace its sender names", async () => {
    const { traceId, headers } = newParent("01");
    const { status } = await verify(api, "exists1@plain.test", headers);
    assert.equal(status, 200);
    const spans = await spansOf(traceId, "GET /v1/verify");
    const parents = ["GET /v1/verify", "check", "cache get", "dns", "probe"].map((name) =>
      parentOf(spans, name),
    );
    assert.deepEqual(parents, [PARENT, "GET /v1/verify", "check", "check", "check"]);

    const { kind, attributes, resource } = spans.get("GET /v1/verify") ?? assert.fail();
    assert.equal(kind, 2);
    const { "service.instance.id": instance, "host.name": host, ...about } = resource;
    assert.ok(typeof instance === "string" && typeof host === "string");
    assert.deepEqual(about, {
      ...{ "service.name": "rcpt-test", "service.version": VERSION, "rcpt.role": "api" },
    });
    assert.equal(attributes["http.route"], "/v1/verify");
    assert.equal(attributes["http.response.status_code"], 200);
    assert.deepEqual([attributes["rcpt.verdict"], attributes["rcpt.cached"]], ["valid", false]);
    assert.equal(attributes["rcpt.team.id"], team.id);

    const probe = spans.get("probe") ?? assert.fail();
    assert.equal(probe.attributes["server.address"], "mx.plain.test");
    assert.equal(probe.attributes["rcpt.smtp.stage"], "rcpt");
    assert.equal(probe.attributes["rcpt.smtp.class"], "accepted");
    assert.equal(probe.attributes["rcpt.smtp.code"], 250);
    assert.equal(probe.attributes["rcpt.session.reused"], false);
    assert.deepEqual(probe.events.slice(0, 3), ["opened", "connected", "greeted"]);
    assert.ok(probe.events.includes("turn"));
    assert.equal(collector.headers[0]?.["x-token"], "s=ecret");
  });

  it("lie within each other", async () => {
    const { traceId, headers } = newParent("01");
    await verify(api, "exists2@plain.test", headers);
    const spans = await spansOf(traceId, "GET /v1/verify");
    // To the microsecond, and what rounding makes of it.
    const slackMs = 0.01;
    for (const [name, parent] of [
      ["check", "GET /v1/verify"],
      ["cache get", "check"],
      ["dns", "check"],
      ["probe", "check"],
    ] as const) {
      const inner = spans.get(name) ?? assert.fail(name);
      const outer = spans.get(parent) ?? assert.fail(parent);
      assert.ok(inner.startMs >= outer.startMs - slackMs, `${name} begins before ${parent}`);
      assert.ok(inner.endMs <= outer.endMs + slackMs, `${name} ends after ${parent}`);
      assert.ok(inner.endMs >= inner.startMs, `${name} ends before it begins`);
    }
    assert.ok(Math.abs((spans.get("check")?.startMs ?? 0) - Date.now()) < 3_600_000);
  });

  it("show a cached answer without a check, and change nothing in it", async () => {
    const first = await verify(api, "exists1@plain.test", {});
    const { traceId, headers } = newParent("01");
    const second = await verify(api, "exists1@plain.test", headers);
    assert.deepEqual(second.body, first.body);
    const spans = await spansOf(traceId, "GET /v1/verify");
    assert.equal(spans.get("GET /v1/verify")?.attributes["rcpt.cached"], true);
    assert.equal(spans.has("check"), false);
  });

  it("show refusals by their code", async () => {
    const { traceId, headers } = newParent("01");
    const { status } = await api.send("GET", "/v1/verify", { key: team.liveKey, headers });
    assert.equal(status, 400);
    const spans = await spansOf(traceId, "GET /v1/verify");
    const { attributes, failed } = spans.get("GET /v1/verify") ?? assert.fail();
    assert.deepEqual([attributes["error.type"], failed], ["validation_failed", false]);
  });

  it("are not made of unauthenticated requests", async () => {
    const before = collector.spans.length;
    const { headers } = newParent("01");
    const { status } = await api.send("GET", "/v1/verify?email=a%40plain.test", {
      key: "rcpt_live_no",
      headers,
    });
    assert.equal(status, 401);
    assert.equal((await api.send("GET", "/healthz", { headers: newParent("01").headers })).status, 200);
    await nothingCame(before);
  });

  it("are not made of requests whose sender records none, or sends a malformed trace id", async () => {
    const before = collector.spans.length;
    const { headers } = newParent("00");
    await verify(api, "exists3@plain.test", headers);
    await verify(api, "exists3@plain.test", { traceparent: `00-${"0".repeat(32)}-${PARENT}-01` });
    await verify(api, "exists3@plain.test", { traceparent: "ÿ".repeat(55) });
    await nothingCame(before);
  });
});

describe("traces of jobs", () => {
  it("show the job, its tasks and the phases of those, whichever process has done them", async () => {
    const { traceId: request, headers } = newParent("01");
    const emails = ["exists4@plain.test", "missing4@plain.test", "nobody@null-mx.test", "no address"];
    const { status, body } = await api.send<{ id: string }>("POST", "/v1/verify/bulk", {
      key: team.liveKey,
      body: { emails },
      headers,
    });
    assert.equal(status, 202);
    const job = await ended(api, team.liveKey, body.id);
    assert.equal(job.status, "completed");
    const { traceId, spanId } = jobSpanRef(body.id);
    const spans = await spansOf(traceId, "assembly");
    await spansOf(traceId, "job");
    const root = collector.spans.find((span) => span.traceId === traceId && span.name === "job");
    assert.deepEqual([root?.spanId, root?.parentSpanId], [spanId, ""]);
    assert.deepEqual([root?.attributes["rcpt.status"], root?.attributes["rcpt.rows"]], ["completed", 4]);

    const { attributes, parentSpanId } = spans.get("chunk") ?? assert.fail();
    assert.equal(parentSpanId, spanId);
    const {
      "rcpt.rows": rows,
      "rcpt.valid": valid,
      "rcpt.invalid": invalid,
      "rcpt.outcome": outcome,
    } = attributes;
    assert.deepEqual({ rows, valid, invalid, outcome }, { rows: 4, valid: 1, invalid: 3, outcome: "done" });
    assert.equal(attributes["rcpt.probes.accepted"], 1);
    for (const phase of ["read", "examine", "write shard"]) assert.equal(parentOf(spans, phase), "chunk");
    assert.equal(parentOf(spans, "write results"), "assembly");

    const submission = (await spansOf(request, "POST /v1/verify/bulk")).get("POST /v1/verify/bulk");
    assert.deepEqual(submission?.links, [traceId]);
    assert.equal(submission?.attributes["rcpt.job"], body.id);
  });
});

describe("what traces say", () => {
  it("is never an address, a key or a header", async () => {
    const { traceId, headers } = newParent("01");
    await verify(api, "missing77@plain.test", headers);
    await spansOf(traceId, "GET /v1/verify");
    const job = await submitted(api, team.liveKey, ["exists78@plain.test", "missing79@plain.test"]);
    await ended(api, team.liveKey, job.id);
    await spansOf(jobSpanRef(job.id).traceId, "chunk");
    const all = collector.bodies.join("\n");
    assert.ok(all.includes("mx.plain.test"));
    for (const secret of [
      "@",
      "missing77",
      "exists78",
      "missing79",
      team.liveKey,
      team.liveKey.slice(-16),
      "s=ecret",
    ])
      assert.equal(all.includes(secret), false, `a trace says ${secret}`);
  });
});

describe("a collector", () => {
  it("that is not there costs spans, which are counted, and no request", async () => {
    const gone = await startOtlpReceiver();
    closing.after(() => gone.close());
    gone.behave("gone");
    const lonely = await deployment.startApi({
      OTEL_EXPORTER_OTLP_ENDPOINT: gone.url,
      OTEL_TRACES_SAMPLER_ARG: "1",
    });
    const { status } = await verify(lonely, "exists1@plain.test", {});
    assert.equal(status, 200);
    await until("lost spans are counted", async () =>
      /^rcpt_trace_spans_dropped_total [1-9]/m.test(await lonely.metrics()),
    );
    assert.equal((await verify(lonely, "exists1@plain.test", {})).status, 200);
    await lonely.stop();
  });

  it("that hangs holds up neither requests nor the end", async () => {
    const silent = await startOtlpReceiver();
    closing.after(() => silent.close());
    silent.behave("silent");
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: silent.url, OTEL_TRACES_SAMPLER_ARG: "1" };
    const lonely = await deployment.startApi(settings);
    assert.equal((await verify(lonely, "exists1@plain.test", {})).status, 200);
    await until("the collector was asked", () => silent.requests() > 0);
    assert.equal((await verify(lonely, "exists1@plain.test", {})).status, 200);
    await lonely.stop();
  });

  it("that is not configured gets nothing", async () => {
    const plain = await deployment.startApi();
    const { traceId, headers } = newParent("01");
    assert.equal((await verify(plain, "exists1@plain.test", headers)).status, 200);
    assert.match(await plain.metrics(), /^rcpt_trace_spans_dropped_total 0$/m);
    await plain.stop();
    // Any span would have been sent by then.
    assert.equal(
      collector.spans.some((span) => span.traceId === traceId),
      false,
    );
  });
});
