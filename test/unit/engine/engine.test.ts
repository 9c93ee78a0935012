import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { loadShaping } from "../../../src/egress/shaping.ts";
import type { RcptJobOptions } from "../../../src/smtp/session/rcpt-job.ts";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import type { Evidence } from "../../../src/verification/evidence.ts";
import { engine, failed, OK, replied, UNKNOWN } from "../../support/check-engine.ts";
import { FIRST_MS } from "../../support/local-breakers.ts";

describe("catch-all, as the engine asks it", () => {
  it("counts from the host that gave it, not from a backup that accepts every recipient", async () => {
    let primaryUp = true;
    const { check, asked } = engine((address, host) => {
      if (host === "mx2.example.test") return OK;
      if (!primaryUp) return failed("connect", "refused");
      return address.startsWith("alice@") ? OK : UNKNOWN;
    });
    assert.equal((await check("alice"))?.smtp?.catchAll, "refused");
    primaryUp = false;
    const ghost = await check("ghost");
    assert.deepEqual([ghost?.smtp?.mxHost, ghost?.smtp?.catchAll], ["mx2.example.test", "accepted"]);
    assert.ok(asked.some((line) => line.startsWith("q") && line.endsWith(" mx2.example.test")));
  });

  it("is asked with the same catch-all address again, which greylisting then accepts", async () => {
    const met = new Set<string>();
    const { check, clock } = engine((address, host) => {
      if (!met.has(`${host} ${address}`)) {
        met.add(`${host} ${address}`);
        return replied(450, "4.2.0", "Greylisted, try again later");
      }
      return address.startsWith("alice@") ? OK : UNKNOWN;
    });
    assert.equal((await check("alice"))?.smtp?.class, "greylisted");
    assert.equal((await check("alice"))?.smtp?.catchAll, "put_off");
    clock.advance(600_000);
    assert.equal((await check("alice"))?.smtp?.catchAll, "refused");
  });

  it("remembers nothing that we failed to ask", async () => {
    for (const cause of ["no_slot", "cancelled"] as const) {
      let failing = true;
      const { check } = engine((address) => {
        if (address.startsWith("alice@")) return OK;
        return failing ? failed("connect", cause) : UNKNOWN;
      });
      assert.equal((await check("alice"))?.smtp?.catchAll, "not_probed");
      failing = false;
      assert.equal((await check("alice"))?.smtp?.catchAll, "refused");
    }
  });

  it("keeps an answer that was put off to this process", async () => {
    const { check, stored } = engine((address) =>
      address.startsWith("alice@") ? OK : replied(451, "4.3.0", "later"),
    );
    assert.equal((await check("alice"))?.smtp?.catchAll, "put_off");
    assert.equal(stored.size, 0);
  });

  it("holds up an answer that is there only for its own short budget", async () => {
    const { check, clock } = engine((address) =>
      address.startsWith("alice@") ? OK : new Promise<RcptOutcome>(() => {}),
    );
    const first = check("alice");
    await clock.advanceAsync(1);
    const second = check("alice");
    await clock.advanceAsync(LIMITS.check.catchAllBudgetMs);
    assert.equal((await second)?.smtp?.catchAll, "not_probed");
    void first;
  });
});

describe("catch-all, as rows of a job ask it", () => {
  it("is waited for longer than a request would", async () => {
    const { ask, clock } = engine((address) =>
      address.startsWith("alice@") ? OK : new Promise<RcptOutcome>(() => {}),
    );
    const first = ask("alice", "bulk");
    await clock.advanceAsync(1);
    const known: (Evidence | "busy" | null)[] = [];
    void ask("alice", "bulk").then((evidence) => known.push(evidence));
    await clock.advanceAsync(LIMITS.check.catchAllBudgetMs);
    assert.equal(known.length, 0);
    await clock.advanceAsync(LIMITS.bulk.catchAllBudgetMs);
    const [second] = known;
    assert.equal(second !== "busy" && second?.smtp?.catchAll, "not_probed");
    void first;
  });
});

describe("the breaker, as the engine works it", () => {
  const blocked = replied(
    554,
    "5.7.1",
    "Service unavailable; Client host [192.0.2.9] blocked using zen.spamhaus.org",
  );

  it("stops probing a site that blocks us", async () => {
    const { check, asked } = engine(() => blocked);
    for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) await check(`a${i}`);
    const before = asked.length;
    const evidence = await check("one-more");
    assert.deepEqual([evidence?.smtp?.class, evidence?.smtp?.rule], ["sender_blocked", "breaker_open"]);
    assert.deepEqual([evidence?.smtp?.path, evidence?.smtp?.retryAfterS], ["direct", FIRST_MS / 1_000]);
    assert.equal(asked.length, before);
  });

  it("asks again with one probe when the time is over, and with all once it is let in", async () => {
    let answer: (outcome: RcptOutcome) => void = () => {};
    let blocks = true;
    const { check, asked, clock } = engine(() =>
      blocks ? blocked : new Promise<RcptOutcome>((resolve) => (answer = resolve)),
    );
    for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) await check(`a${i}`);
    clock.advance(FIRST_MS);
    blocks = false;
    const before = asked.length;
    const [trial, ...others] = Array.from({ length: 5 }, (_, i) => check(`b${i}`));
    for (const other of others) assert.equal((await other)?.smtp?.rule, "breaker_open");
    assert.equal(asked.length, before + 1);
    answer(UNKNOWN);
    assert.equal((await trial)?.smtp?.class, "mailbox_not_found");
    const next = check("c");
    await new Promise((resolve) => setImmediate(resolve));
    answer(UNKNOWN);
    assert.equal((await next)?.smtp?.class, "mailbox_not_found");
  });

  it("defers an accepted row where the catch-all probe cannot be made any more", async () => {
    let turnBack: () => void = () => {};
    const { ask, check } = engine((address) => {
      if (address.startsWith("alice")) return OK;
      if (address.startsWith("a")) return blocked;
      return new Promise<RcptOutcome>((resolve) => {
        turnBack = () => resolve(failed("connect", "held_back"));
      });
    });
    const asked = ask("alice", "bulk");
    for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) await check(`a${i}`);
    turnBack();
    const row = await asked;
    assert.ok(row !== null && row !== "busy");
    assert.deepEqual([row.smtp?.class, row.smtp?.rule], ["sender_blocked", "breaker_open"]);
  });

  it("is not closed by an end that says nothing of us", async () => {
    let n = 0;
    const { check, asked } = engine(() => (n++ % 2 === 0 ? blocked : failed("connect", "no_slot")));
    for (let i = 0; i < LIMITS.breaker.blocksToOpen * 2; i++) await check(`a${i}`);
    const before = asked.length;
    await check("one-more");
    assert.equal(asked.length, before);
  });
});

describe("a busy site, as the engine meets it", () => {
  /** Servers that answer when the test says so. */
  function silent() {
    const answers: ((outcome: RcptOutcome) => void)[] = [];
    // So many are refused in a row that a postmaster is asked about it.
    const world = engine((address) =>
      address.startsWith("postmaster@") ? OK : new Promise((resolve) => answers.push(resolve)),
    );
    return { ...world, answers };
  }
  const { maxConnections } = loadShaping().policyFor(null);
  const LINE = maxConnections * 10 * LIMITS.bulk.lineFillings;

  it("is left at once by a row in bulk, waited for by a patient one and by a request", async () => {
    const { ask, answers, sites, asked } = silent();
    const waiting = Array.from({ length: LINE }, (_, i) => ask(`a${i}`, "bulk"));
    assert.equal(await ask("late", "bulk"), "busy");
    assert.deepEqual(new Set(sites), new Set(["example.test"]));
    assert.equal(asked.length, LINE);
    const patient = ask("patient", "patient");
    const request = ask("request", "single");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(asked.length, LINE + 2);
    for (const answer of answers) answer(UNKNOWN);
    for (const known of await Promise.all([...waiting, patient, request]))
      assert.equal(known !== "busy" && known?.smtp?.class, "mailbox_not_found");
    const next = ask("next", "bulk");
    await new Promise((resolve) => setImmediate(resolve));
    answers.at(-1)?.(UNKNOWN);
    assert.notEqual(await next, "busy", "who has left the line is not counted");
  });

  it("that gave us no slot is no evidence for a row, as it is for a request", async () => {
    const { ask } = engine(() => failed("connect", "no_slot"));
    assert.deepEqual([await ask("a", "bulk"), await ask("a", "patient")], ["busy", "busy"]);
    const evidence = await ask("a", "single");
    assert.equal(evidence !== "busy" && evidence?.smtp?.fault, "our_network");
  });

  it("does not use up a patient row's time, which begins with its turn", async () => {
    const options: RcptJobOptions[] = [];
    const { ask, clock } = engine(
      () => new Promise<RcptOutcome>(() => {}),
      (option) => options.push(option),
    );
    void ask("a", "patient");
    void ask("b", "bulk");
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(60_000);
    const [patient, bulk] = options;
    assert.deepEqual([patient?.deadlineAt, bulk?.deadlineAt], [Infinity, LIMITS.smtp.probeBudgetMs]);
    patient?.onTaken?.(clock.monotonic());
    assert.equal(patient?.deadlineAt, 60_000 + LIMITS.smtp.probeBudgetMs);
    clock.advance(1_000);
    patient?.onTaken?.(clock.monotonic());
    assert.equal(patient?.deadlineAt, 60_000 + LIMITS.smtp.probeBudgetMs, "a second turn gives no more");
  });

  it("gets its catch-all probe before all waiting rows", async () => {
    const urgent: boolean[] = [];
    const { check } = engine(
      (address) => (address.startsWith("alice@") ? OK : UNKNOWN),
      (option) => urgent.push(option.urgent === true),
    );
    await check("alice");
    assert.deepEqual(urgent, [false, true]);
  });
});
