import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../../src/features/identity/actor.ts";
import type { EvidenceFinding } from "../../../../../src/features/verify/answer/evidence-finding.ts";
import {
  createExaminer,
  type ExaminerDeps,
  type FindingHandler,
} from "../../../../../src/features/verify/answer/examine.ts";
import type { VerificationResult } from "../../../../../src/features/verify/answer/verification-result.ts";
import {
  createVerifyAddress,
  type VerifyDeps,
} from "../../../../../src/features/verify/answer/verify-address.ts";
import { createRowFiller } from "../../../../../src/features/verify/batch/fill-rows.ts";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { RenderedJson } from "../../../../../src/platform/rendered-json.ts";
import type { Evidence } from "../../../../../src/verification/evidence.ts";
import { enterBy } from "../../../../support/entrance.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { createGate } from "../../../../support/gate.ts";

/** A request, and the finding that the engine will return for it. */
interface Case {
  email: string;
  finding: EvidenceFinding;
  blocked?: boolean;
  cancelled?: boolean;
  withEvidence?: boolean;
}

const landed = (evidence: Evidence, cached = false): EvidenceFinding => ({
  entry: { evidence, storedAt: 1_700_000_000_000, ttlS: 60 },
  cached,
});
const PLAIN = evidenceWith();
const DNS_ERROR = evidenceWith({
  mx: { status: "dns_error", hosts: [], provider: null, ttlS: 0, fault: "their_server" },
});

/** The same domains again and again, so that later ones meet templates of earlier. */
const CASES: Case[] = [
  { email: "jane@one.test", finding: landed(PLAIN) },
  { email: "john@one.test", finding: landed(PLAIN) },
  { email: "John.Doe@one.test", finding: landed(PLAIN), cancelled: true },
  { email: "jane@one.test", finding: landed(PLAIN, true) },
  { email: "x9k2q7w4z8p1v6@one.test", finding: landed(PLAIN) },
  { email: "info@one.test", finding: landed(evidenceWith({ role: "info" })) },
  { email: "jane@two.test", finding: landed(DNS_ERROR) },
  { email: "john@two.test", finding: landed(DNS_ERROR) },
  { email: "jane@gmial.com", finding: landed(PLAIN) },
  { email: '"a b"@one.test', finding: landed(PLAIN) },
  { email: "jürgen@one.test", finding: landed(PLAIN) },
  { email: "probed@one.test", finding: landed(evidenceWith({ smtp: smtpWith() })), withEvidence: true },
  { email: "late@one.test", finding: { entry: null, cached: false, failure: "deadline" } },
  { email: "jane@one.test", finding: landed(PLAIN), blocked: true },
  { email: "nobody", finding: { entry: null, cached: false } },
];

/** The answers, with their charges and counts. */
async function outcomesOf(hasTemplated: boolean) {
  const clock = createFakeClock(1_700_000_000_000);
  let next: Case | undefined;
  const examiner = createExaminer({
    clock,
    isPromoted: () => false,
    lists: { disposable: () => PLAIN.disposable, role: () => null, isFree: () => false },
    cache: { peek: () => undefined },
    onLookup() {},
    inFlight: {
      join: async (_question: unknown, _waiter: unknown, arrival: FindingHandler<unknown>) =>
        arrival.settled(next?.finding as EvidenceFinding),
    },
  } as unknown as ExaminerDeps);
  const filler = createRowFiller({ clock, examiner, limits: LIMITS.verify.templates });
  const outcomes: unknown[] = [];
  const left: string[] = [];
  let templated = 0;
  for (const one of CASES) {
    next = one;
    const told: unknown[] = [];
    const verify = createVerifyAddress({
      examiner,
      filler: hasTemplated ? filler : { fill: () => null },
      enter: enterBy(examiner, () => ({ admit() {}, release: () => left.push(one.email) })),
      quota: {
        reserve: () => ({
          day: "2026-01-01",
          commit: () => told.push("committed"),
          giveBack: () => told.push("given back"),
        }),
      },
      usage: { count: (...counted: unknown[]) => told.push(counted) },
      cachedAnswers: { remember() {} },
      tallies: ({ verdict, reason }: { verdict: string; reason: string }, cached: boolean) => {
        told.push([verdict, reason, cached]);
        return { count: 0 };
      },
    } as unknown as VerifyDeps);
    const overlay = { isBlocked: () => one.blocked === true, isDisposable: () => false };
    const limits = { probing: one.finding.entry?.evidence.smtp !== null, refresh: false };
    const actor = { teamId: "team_1", livemode: true, limits, overlay } as unknown as Actor;
    const answer = await verify(
      { email: one.email, refresh: false, withEvidence: one.withEvidence === true, probe: true },
      actor,
      { startedMs: 0, cancelled: () => one.cancelled === true, onCancel() {} },
    );
    if (answer instanceof RenderedJson) {
      templated += 1;
      assert.match(String(answer.body), /^[ -~]*$/);
    }
    const json = answer instanceof RenderedJson ? String(answer.body) : JSON.stringify(answer);
    outcomes.push({ json, told });
  }
  return { outcomes, templated, left };
}

describe("an answer that fills a template", () => {
  it("sends, charges and counts as the general renderer does", async () => {
    const [texts, objects] = [await outcomesOf(true), await outcomesOf(false)];
    assert.deepEqual(texts.outcomes, objects.outcomes);
    assert.equal(objects.templated, 0);
    // Answers without a server need no slot: one is blocked, one is malformed.
    assert.equal(texts.left.length, CASES.length - 2);
    assert.ok(texts.templated >= 7, `only ${texts.templated} filled a template`);
  });

  it("keeps the unit of an answered request, and returns it for a disconnected client and for a failure", async () => {
    const { outcomes } = await outcomesOf(true);
    const ends = (outcomes as { told: unknown[] }[]).map(({ told }) => told[0]);
    const of = (email: string) => ends[CASES.findIndex((one) => one.email === email)];
    assert.equal(of("jane@one.test"), "committed");
    for (const email of ["John.Doe@one.test", "jane@two.test", "late@one.test"])
      assert.equal(of(email), "given back", email);
    assert.equal((outcomes[2] as { told: unknown[] }).told.length, 1);
  });
});

describe("a question for which there is no room", () => {
  const entry = { evidence: PLAIN, storedAt: 1_700_000_000_000, ttlS: 60 };

  function crowdedHouse() {
    const asked: string[] = [];
    const examiner = createExaminer({
      clock: createFakeClock(1_700_000_000_000),
      isPromoted: () => false,
      lists: { disposable: () => PLAIN.disposable, role: () => null, isFree: () => false },
      cache: { peek: (_scope: string, key: string) => (key.startsWith("known") ? entry : undefined) },
      onLookup() {},
      inFlight: { join: async () => assert.fail("a check was asked for") },
    } as unknown as ExaminerDeps);
    const verify = createVerifyAddress({
      examiner,
      filler: { fill: () => null },
      enter: enterBy(examiner, () => {
        throw new AppError("overloaded", "too long a wait", { retryAfterS: 1 });
      }),
      quota: {
        reserve() {
          asked.push("quota");
          return { day: "2026-01-01", commit: () => asked.push("committed"), giveBack() {} };
        },
      },
      usage: { count() {} },
      cachedAnswers: { remember() {} },
      tallies: () => ({ count: 0 }),
    } as unknown as VerifyDeps);
    const overlay = { isBlocked: (domain: string) => domain === "blocked.test", isDisposable: () => false };
    const actor = { teamId: "t", livemode: true, limits: { refresh: true }, overlay } as unknown as Actor;
    const waiter = () => ({ startedMs: 0, cancelled: () => false, onCancel() {} });
    const ask = (email: string, refresh = false) =>
      verify({ email, refresh, withEvidence: false, probe: true }, actor, waiter());
    return { ask, asked };
  }

  it("is refused before its quota is asked for", () => {
    const { ask, asked } = crowdedHouse();
    assert.throws(() => ask("new@one.test"), { code: "overloaded", retryAfterS: 1 });
    assert.throws(() => ask("known@one.test", true), { code: "overloaded" });
    assert.deepEqual(asked, []);
  });

  it("is answered where memory knows the answer, or no server need be asked", async () => {
    const { ask, asked } = crowdedHouse();
    await ask("known@one.test");
    assert.deepEqual(asked, ["quota", "committed"]);
    for (const email of ["new@blocked.test", "no address"]) await ask(email);
    assert.equal(asked.filter((what) => what === "quota").length, 3);
  });
});

describe("a question whose unit has to be fetched", () => {
  it("is answered by what memory learnt meanwhile, without a check", async () => {
    let known: CacheEntry | undefined;
    const examiner = createExaminer({
      clock: createFakeClock(1_700_000_000_000),
      isPromoted: () => false,
      lists: { disposable: () => PLAIN.disposable, role: () => null, isFree: () => false },
      cache: { peek: () => known },
      onLookup() {},
      flights: { join: async () => assert.fail("a check was asked for") },
    } as unknown as ExaminerDeps);
    const unit = createGate();
    const ends: string[] = [];
    const verify = createVerifyAddress({
      examiner,
      filler: { fill: () => null },
      enter: enterBy(examiner, () => ({ admit() {}, release: () => ends.push("slot released") })),
      quota: {
        reserve: async () => {
          await unit.opened;
          return { day: "2026-01-01", commit: () => ends.push("committed"), giveBack() {} };
        },
      },
      usage: { count() {} },
      cachedAnswers: { remember() {} },
      tallies: () => ({ count: 0 }),
    } as unknown as VerifyDeps);
    const overlay = { isBlocked: () => false, isDisposable: () => false };
    const actor = { teamId: "t", livemode: true, limits: {}, overlay } as unknown as Actor;
    const waiter = { startedMs: 0, cancelled: () => false, onCancel() {} };
    const input = { email: "jane@one.test", refresh: false, withEvidence: false, probe: true };
    const answer = verify(input, actor, waiter);
    known = { evidence: PLAIN, storedAt: 1_700_000_000_000, ttlS: 60 };
    unit.open();
    const { cached } = (await answer) as VerificationResult;
    assert.deepEqual([cached, ends], [true, ["slot released", "committed"]]);
  });
});

describe("a question without an answer", () => {
  it("costs nothing, whether it is refused at once or later", async () => {
    const told: string[] = [];
    const failures: Record<string, () => unknown> = {
      "at once@one.test": () => {
        throw new Error("at once");
      },
      "later@one.test": () => Promise.reject(new Error("later")),
    };
    const examiner = {
      understand: (email: string) => ({ email, teamId: "team_1" }),
      isKnown: () => false,
      find: (
        { email }: { email: string },
        _refresh: boolean,
        _context: unknown,
        arrival: { failed(): void },
      ) => {
        if (email.startsWith("later")) arrival.failed();
        return failures[email]?.();
      },
    };
    let left = 0;
    const verify = createVerifyAddress({
      examiner,
      enter: enterBy(examiner, () => ({ admit() {}, release: () => void left++ })),
      quota: {
        reserve: () => ({ day: "2026-01-01", commit() {}, giveBack: () => told.push("given back") }),
      },
    } as unknown as VerifyDeps);
    const actor = { livemode: true, limits: {} } as unknown as Actor;
    for (const email of Object.keys(failures)) {
      await assert.rejects(async () =>
        verify({ email, refresh: false, withEvidence: false, probe: true }, actor, {
          startedMs: 0,
          cancelled: () => false,
          onCancel() {},
        }),
      );
    }
    assert.deepEqual(told, ["given back", "given back"]);
    assert.equal(left, 2);
  });

  it("leave their place where they get no unit, at once or later", async () => {
    const refused = new AppError("quota_exceeded", "The daily quota is used up.");
    const refusals = [
      () => {
        throw refused;
      },
      () => Promise.reject(refused),
    ];
    for (const reserve of refusals) {
      let left = 0;
      const examiner = {
        understand: (email: string) => ({ email, teamId: "team_1" }),
        isKnown: () => false,
      };
      const verify = createVerifyAddress({
        enter: enterBy(examiner, () => ({ admit() {}, release: () => void left++ })),
        quota: { reserve },
      } as unknown as VerifyDeps);
      const actor = { livemode: true, limits: {} } as unknown as Actor;
      const waiter = { startedMs: 0, cancelled: () => false, onCancel() {} };
      await assert.rejects(
        async () =>
          verify({ email: "a@one.test", refresh: false, withEvidence: false, probe: true }, actor, waiter),
        refused,
      );
      assert.equal(left, 1);
    }
  });
});
