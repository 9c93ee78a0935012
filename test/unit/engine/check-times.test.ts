import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CheckTrace } from "../../../src/engine/check-times.ts";
import type { SessionTimes } from "../../../src/smtp/session/rcpt-job.ts";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const SITE = { site: "mx.plain.test", provider: null };

function reply(code: number): RcptOutcome {
  const whole = { code, enhancedCode: null, lines: ["of someone@plain.test"] };
  return {
    ...{
      kind: "reply",
      stage: "rcpt",
      reply: whole as unknown as Extract<RcptOutcome, { kind: "reply" }>["reply"],
    },
    ...{ host: "mx1.plain.test", address: "192.0.2.1", path: "direct", tls: true, latencyMs: 5 },
  } as RcptOutcome;
}

const REFUSED: RcptOutcome = {
  ...{ kind: "failure", stage: "connect", cause: "refused", detail: "of someone@plain.test" },
  ...{ host: "mx2.plain.test", address: "192.0.2.2", path: "direct", tls: false, latencyMs: 3 },
};

/** A check that began at 100. */
function setUp() {
  const clock = createFakeClock();
  clock.advance(100);
  return { clock, trace: new CheckTrace(clock) };
}

function session(times: Partial<SessionTimes>): SessionTimes {
  return { openedAt: 0, connectedAt: 0, greetedAt: 0, securedAt: 0, readyAt: 0, ...times };
}

describe("the times of a check", () => {
  it("count from its beginning, whatever its thread's clock says", () => {
    const { clock, trace } = setUp();
    clock.advance(7);
    trace.onPlanned();
    clock.advance(10);
    trace.onSession(clock.monotonic(), session({ openedAt: 50, readyAt: 60 }));
    clock.advance(5);
    trace.onAttempt(reply(250), SITE);
    clock.advance(2);
    const { attempts, ...whole } = trace.finish(3);
    assert.deepEqual(whole, { slot: 3, plannedMs: 7, totalMs: 24 });
    assert.deepEqual(attempts, [
      {
        ...{ site: "mx.plain.test", provider: null, host: "mx1.plain.test", route: "direct", stage: "rcpt" },
        ...{
          cause: null,
          code: 250,
          tls: true,
          beganMs: 7,
          sessionMs: 17,
          endedMs: 22,
          reused: true,
          opened: [],
        },
      },
    ]);
  });

  it("say when the stages of a session were reached that was opened meanwhile", () => {
    const { clock, trace } = setUp();
    trace.onPlanned();
    clock.advance(40);
    trace.onSession(140, session({ openedAt: 110, connectedAt: 120, greetedAt: 130, readyAt: 139 }));
    trace.onAttempt(reply(550), SITE);
    const [attempt] = trace.finish(1).attempts;
    assert.equal(attempt?.reused, false);
    assert.deepEqual(attempt?.opened, [
      { stage: "opened", atMs: 10 },
      { stage: "connected", atMs: 20 },
      { stage: "greeted", atMs: 30 },
      { stage: "ready", atMs: 39 },
    ]);
  });

  it("have an attempt for each host, one behind the other", () => {
    const { clock, trace } = setUp();
    trace.onPlanned();
    clock.advance(3);
    trace.onAttempt(REFUSED, SITE);
    clock.advance(4);
    trace.onSession(clock.monotonic(), session({}));
    clock.advance(1);
    trace.onAttempt(reply(250), SITE);
    const { attempts } = trace.finish(1);
    assert.deepEqual(
      attempts.map(({ host, cause, beganMs, sessionMs: turnMs, endedMs }) => [
        host,
        cause,
        beganMs,
        turnMs,
        endedMs,
      ]),
      [
        ["mx2.plain.test", "refused", 0, null, 3],
        ["mx1.plain.test", null, 3, 7, 8],
      ],
    );
  });

  it("say nothing of the recipient, nor what a server wrote", () => {
    const { trace } = setUp();
    trace.onAttempt(REFUSED, SITE);
    trace.onAttempt(reply(550), SITE);
    assert.equal(JSON.stringify(trace.finish(1)).includes("someone"), false);
  });

  it("keep a bounded number of attempts", () => {
    const { trace } = setUp();
    for (let i = 0; i < 1_000; i++) trace.onAttempt(REFUSED, SITE);
    assert.equal(trace.finish(1).attempts.length, 16);
  });
});
