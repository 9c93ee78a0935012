import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AttemptTimes, CheckTimes } from "../../../../../src/engine/check-times.ts";
import { recordCheckSpans } from "../../../../../src/features/verify/checks/check-spans.ts";
import type { Evidence } from "../../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { RecordedSpan } from "../../../../support/recorded-span.ts";

const ACCEPTED = evidenceWith({ smtp: smtpWith() });
const ATTEMPT: AttemptTimes = {
  ...{ site: "mx.plain.test", provider: "google", host: "mx1.plain.test", route: "direct", stage: "rcpt" },
  ...{ cause: null, code: 250, tls: true, beganMs: 10, sessionMs: 30, endedMs: 45, reused: false },
  opened: [{ stage: "connected", atMs: 15 }],
};

function told(times: Partial<CheckTimes>, evidence: Evidence | null, beganMs = 1_000): RecordedSpan {
  const span = new RecordedSpan("check");
  const whole = { slot: 1, totalMs: 60, plannedMs: 10, attempts: [ATTEMPT], ...times };
  recordCheckSpans(span, whole, { beganMs, endedMs: 1_070, domain: "plain.test" }, evidence);
  return span;
}

const timesOf = ({ children }: RecordedSpan) =>
  children.map(({ name, startMs, endMs }) => [name, startMs, endMs]);

describe("the spans of a check", () => {
  it("lie between when it was asked for and when its answer came, which its thread's clock says nothing of", () => {
    const span = told({}, ACCEPTED);
    assert.deepEqual(timesOf(span), [
      ["dns", 1_010, 1_020],
      ["probe", 1_020, 1_055],
      ["catch-all", 1_055, 1_070],
    ]);
    assert.equal(span.attributes["rcpt.check.queue_ms"], 10);
  });

  it("never begin before the check was asked for", () => {
    const span = told({ totalMs: 100 }, null);
    assert.deepEqual(span.children[0]?.startMs, 1_000);
    assert.equal(span.attributes["rcpt.check.queue_ms"], 0);
  });

  it("say of a probe its host, its stage, and how long it was queued", () => {
    const [, probe] = told({}, ACCEPTED).children;
    assert.equal(probe?.kind, "client");
    assert.deepEqual(probe?.events, [
      { name: "connected", atMs: 1_025 },
      { name: "turn", atMs: 1_040 },
    ]);
    assert.equal(probe?.attributes["server.address"], "mx1.plain.test");
    assert.equal(probe?.attributes["rcpt.line_ms"], 20);
    assert.equal(probe?.attributes["rcpt.transaction_ms"], 15);
    assert.equal(probe?.attributes["rcpt.smtp.class"], "accepted");
    assert.equal(probe?.failedBy, null);
  });

  it("do not name a host, or a site, that is called as the recipient's domain is", () => {
    const [, implicit] = told(
      { attempts: [{ ...ATTEMPT, site: "plain.test", host: "plain.test" }] },
      ACCEPTED,
    ).children;
    assert.equal(JSON.stringify(implicit?.attributes).includes("plain.test"), false);
    const [, own] = told({ attempts: [{ ...ATTEMPT, site: "plain.test" }] }, ACCEPTED).children;
    assert.equal(own?.attributes["server.address"], "mx1.plain.test");
    assert.equal("rcpt.site" in (own?.attributes ?? {}), false);
    const [, others] = told({}, ACCEPTED).children;
    assert.equal(others?.attributes["rcpt.site"], "mx.plain.test");
  });

  it("show each host, and the answer with the last", () => {
    const refused: AttemptTimes = {
      ...ATTEMPT,
      ...{ cause: "refused", code: 0, sessionMs: null, opened: [], endedMs: 20 },
    };
    const span = told({ attempts: [refused, { ...ATTEMPT, beganMs: 20 }] }, ACCEPTED);
    const probes = span.children.filter(({ name }) => name === "probe");
    assert.deepEqual(
      probes.map(({ failedBy, attributes }) => [failedBy, attributes["rcpt.smtp.class"]]),
      [
        ["refused", undefined],
        [null, "accepted"],
      ],
    );
    assert.equal("rcpt.line_ms" in (probes[0]?.attributes ?? {}), false);
  });

  it("show only the look-up where no server was asked", () => {
    assert.deepEqual(
      told({ attempts: [] }, evidenceWith()).children.map(({ name }) => name),
      ["dns"],
    );
  });
});
