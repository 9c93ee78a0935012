import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { Backlog } from "../../../../src/smtp/session/backlog.ts";
import { RcptJob, sessionFailure } from "../../../../src/smtp/session/rcpt-job.ts";
import { parseMailbox } from "../../../../src/smtp/wire/mailbox.ts";
import type { RcptOutcome } from "../../../../src/smtp/wire/outcome.ts";

const { patientSweepMs: patientLookMs, sweepMs } = LIMITS.smtp;
const PATH = { name: "direct", localAddress: null, proxy: null, heloName: "probe.test" };

function jobAt(startedAt: number, deadlineAt = 1_000, cancelled = () => false) {
  const mailbox = parseMailbox(`u${startedAt}@x.test`) ?? assert.fail();
  const outcomes: RcptOutcome[] = [];
  const place = { host: "mx.test", address: "192.0.2.1", path: PATH };
  const settled = () => assert.fail("outcomes go by the pool");
  const job = new RcptJob(
    mailbox,
    place,
    { cancelled, deadlineAt, onSettled: settled },
    startedAt,
    (outcome) => outcomes.push(outcome),
  );
  return { job, outcomes };
}

describe("the backlog of a host", () => {
  it("serves in order of arrival, also past thousands", () => {
    const backlog = new Backlog();
    const jobs = Array.from({ length: 3_000 }, (_, i) => jobAt(i).job);
    for (const job of jobs) backlog.add(job);
    for (const job of jobs) assert.equal(backlog.take(), job);
    assert.deepEqual([backlog.take(), backlog.length], [undefined, 0]);
  });

  it("keeps no reference to a job that was taken out, however many still wait", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const backlog = new Backlog();
    for (let i = 0; i < 10; i++) backlog.add(jobAt(i).job);
    const taken = (() => Array.from({ length: 5 }, () => new WeakRef(backlog.take() ?? assert.fail())))();
    // The target of a weak reference lives to the end of its tick.
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      collect();
      assert.deepEqual([taken.map((job) => job.deref()), backlog.length], [Array(5).fill(undefined), 5]);
    });
  });

  it("puts back before all others, in order", () => {
    const backlog = new Backlog();
    const [a, b, c] = [jobAt(1).job, jobAt(2).job, jobAt(3).job];
    backlog.add(c);
    backlog.putBack([a, b]);
    assert.deepEqual([backlog.take(), backlog.take(), backlog.take()], [a, b, c]);
  });

  it("returns the jobs that wait for a route, all or those of one domain, and no others", () => {
    const backlog = new Backlog();
    const [a, b] = [jobAt(1), jobAt(2)];
    backlog.add(a.job);
    backlog.addForNewSession(b.job);
    backlog.holdBack("192.0.2.9", "", 5);
    backlog.holdBack("direct", "y.test", 5);
    assert.equal(backlog.length, 2);
    backlog.holdBack("direct", "x.test", 5);
    assert.equal(backlog.length, 0);
    for (const { outcomes } of [a, b])
      assert.equal(outcomes[0]?.kind === "failure" && outcomes[0].cause, "held_back");
  });

  it("keeps the jobs of stale sessions for new ones", () => {
    const backlog = new Backlog();
    const { job } = jobAt(1);
    backlog.addForNewSession(job);
    assert.deepEqual(
      [backlog.readyForAnySession, backlog.waitingForNewSession, backlog.take()],
      [0, 1, undefined],
    );
    assert.equal(backlog.takeForNewSession(), job);
  });

  it("ends jobs that are overdue or cancelled, and no others", () => {
    const backlog = new Backlog();
    const late = jobAt(1, 10);
    const gone = jobAt(2, 1_000, () => true);
    const fine = jobAt(3);
    for (const { job } of [late, gone, fine]) backlog.add(job);
    backlog.expire(10, "connect", "no_slot", false);
    assert.deepEqual(
      [late, gone, fine].map(({ outcomes: [first] }) => (first?.kind === "failure" ? first.cause : null)),
      ["no_slot", "cancelled", null],
    );
    assert.equal(backlog.length, 1);
  });

  it("checks jobs without a deadline only now and then, as soon as one has a deadline", () => {
    const backlog = new Backlog();
    let looks = 0;
    const patient = jobAt(1, Number.POSITIVE_INFINITY, () => looks++ < 0);
    backlog.add(patient.job);
    for (let now = 0; now < patientLookMs; now += sweepMs) backlog.expire(now, "connect", "no_slot", false);
    assert.equal(looks, 1);
    backlog.expire(patientLookMs, "connect", "no_slot", false);
    assert.equal(looks, 2);
    const hurried = jobAt(2, patientLookMs + 2 * sweepMs);
    backlog.add(hurried.job);
    backlog.expire(patientLookMs + sweepMs, "connect", "no_slot", false);
    backlog.expire(patientLookMs + 2 * sweepMs, "connect", "no_slot", false);
    assert.deepEqual([looks, hurried.outcomes.length, backlog.length], [4, 1, 1]);
    backlog.expire(patientLookMs + 3 * sweepMs, "connect", "no_slot", true);
    assert.equal(looks, 5, "at once where all are to be looked at");
  });

  it("fails the jobs that came no later than the evidence", () => {
    const backlog = new Backlog();
    const before = jobAt(1);
    const behind = jobAt(5);
    backlog.add(before.job);
    backlog.add(behind.job);
    backlog.fail(sessionFailure("connect", "refused", "ECONNREFUSED"), false, 9, 3);
    assert.deepEqual([before.outcomes.length, behind.outcomes.length], [1, 0]);
    assert.equal(before.outcomes[0]?.latencyMs, 8);
  });
});

describe("a job", () => {
  it("has one end, the first", () => {
    const { job, outcomes } = jobAt(0);
    job.settle(sessionFailure("rcpt", "timeout", "deadline"), false, 5);
    job.settle(sessionFailure("rcpt", "closed", "later"), true, 9);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.kind === "failure" && outcome.cause),
      ["timeout"],
    );
    assert.deepEqual([job.cancelled(), job.mayRetry(), job.mayRequeue()], [true, false, false]);
  });

  it("is retried once and put back a few times", () => {
    const { job } = jobAt(0);
    assert.deepEqual([job.mayRetry(), job.mayRetry()], [true, false]);
    assert.equal(Array.from({ length: 20 }, () => job.mayRequeue()).filter(Boolean).length, 5);
  });
});
