import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CheckPool } from "../../../../../src/engine/threads/pool.ts";
import { TemplatedRows } from "../../../../../src/features/bulk/results/templated-rows.ts";
import {
  type AnsweredRows,
  countRows,
  forEachResult,
} from "../../../../../src/features/bulk/run/answered-rows.ts";
import { createControl } from "../../../../../src/features/bulk/run/control.ts";
import {
  createRowVerifier,
  type RowAnswer,
  type RowsVerifyOptions,
} from "../../../../../src/features/bulk/run/row-verifier.ts";
import { createExaminer, type ExaminerDeps } from "../../../../../src/features/verify/answer/examine.ts";
import { createBatchExaminer } from "../../../../../src/features/verify/batch/examine-batch.ts";
import { createRowFiller, templatedResultOf } from "../../../../../src/features/verify/batch/fill-rows.ts";
import { EvidenceMemory } from "../../../../../src/features/verify/cache/evidence-memory.ts";
import { siteOf } from "../../../../../src/verification/lists/site.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import fc from "../../../../support/properties.ts";
import { silentLog } from "../../../../support/store.ts";

/** Rows that fill templates must give the same results as rows that are rendered one by one, from the same caches. */

const DOMAINS = [
  "one.test",
  "blocked.test",
  "gmail.com",
  "googlemail.com",
  "jane.fastmail.com",
  "qq.com",
  "gmial.com",
  "overridden.test",
];
const LOCALS = [
  "jane",
  "JANE",
  "mary.k",
  "tom",
  "tim",
  "t.o_m",
  "a+b",
  "in.fo",
  "12345",
  "info",
  "x9k2q7w4z8p1v6",
  "o'neil",
  '"a b"',
  "jürgen",
  "=cmd",
];
const email = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom(...LOCALS), fc.constantFrom(...DOMAINS)).map(([a, b]) => `${a}@${b}`),
  },
  { weight: 1, arbitrary: fc.constantFrom("nobody", "no body", "a@", "=1+1", "ä", "x".repeat(400), "") },
);

/** As of one domain: evidence of its addresses has its exchangers in common. */
const { mx } = evidenceWith();
const evidenceOfMx = (smtp: Parameters<typeof smtpWith>[0]) => evidenceWith({ mx, smtp: smtpWith(smtp) });

/** Evidence in memory for the row's address: none, of a kind that fills templates, or of another kind. */
const known = fc.constantFrom(
  null,
  null,
  ...[0, 1, 7, 31].map((latencyMs) => evidenceOfMx({ latencyMs })),
  evidenceOfMx({ latencyMs: 5, reply: "250 2.1.5 Ok a4f1" }),
  evidenceOfMx({ latencyMs: 5, class: "mailbox_not_found", code: 550, fault: "recipient" }),
  evidenceOfMx({ latencyMs: -1 }),
  ...[
    evidenceWith(),
    evidenceWith({ smtp: smtpWith({ latencyMs: 7 }) }),
    evidenceWith({ smtp: smtpWith({ class: "mailbox_not_found", code: 550, fault: "recipient" }) }),
    evidenceWith({ smtp: smtpWith({ class: "greylisted", code: 450, retryAfterS: 60 }) }),
    evidenceWith({ smtp: smtpWith({ latencyMs: 1.5 }) }),
  ],
);
const row = fc.record({ email, known, copies: fc.constantFrom(0, 0, 0, 3) });
type Row = typeof row extends fc.Arbitrary<infer T> ? T : never;

const ask = (over: Partial<RowsVerifyOptions>): RowsVerifyOptions => ({
  asker: {
    teamId: "team_1",
    probing: true,
    overlay: {
      isBlocked: (domain) => domain === "blocked.test",
      isDisposable: (domain) => domain === "overridden.test",
    },
  },
  livemode: true,
  withEvidence: false,
  ...over,
});

const lists = {
  disposable: () => ({ listed: false, source: "none" }),
  role: (local: string) => (local === "info" ? "info" : null),
  isFree: (domain: string) => domain === "gmail.com",
};

/** A verifier whose memory knows the rows, and whose pool answers all others. */
function world(rows: readonly Row[], hasTemplated: boolean) {
  const clock = createFakeClock();
  const memory = new EvidenceMemory(1_000, clock);
  for (const [at, { email: key, known: evidence }] of rows.entries())
    if (evidence !== null) memory.keep(key, { evidence, storedAt: clock.now() - at, ttlS: 60 + (at % 2) });
  const looks = { memory: 0, miss: 0 };
  const asked: string[] = [];
  const examiner = createExaminer({ clock, lists, isPromoted: () => false } as unknown as ExaminerDeps);
  const batches = createBatchExaminer({
    clock,
    log: silentLog,
    lists,
    cache: {
      peek: (_, key) => memory.peek(key),
      fetchMany: async (questions) => questions.map(() => undefined),
      storeMany() {},
    },
    pool: {
      checkBatch(addresses: readonly string[]) {
        asked.push(...addresses);
        const lines = addresses.map(({ length }) => evidenceWith({ smtp: smtpWith({ latencyMs: length }) }));
        return { outcomes: Promise.resolve(lines), remaining: 0, finishEarly() {}, cancel() {} };
      },
    } as Pick<CheckPool, "checkBatch">,
    keep: () => ({ ttlS: 60, shared: true }),
    signals: { spf: true, dmarc: true },
    onLookup(result, count) {
      looks[result] += count;
    },
  });
  const filler = createRowFiller({ clock, examiner, limits: LIMITS.bulk.templates });
  const verifier = createRowVerifier({
    clock,
    examiner,
    batches,
    filler: hasTemplated ? filler : { fill: () => null },
    sites: { siteOf },
    roomAt: () => 1,
    testKeys: { answer: async () => assert.fail("a live row has no test key") },
  });
  return { verifier, looks, asked };
}

/** The answer as JSON, with its charge; for a waiting row with the reason, site and time of the wait. */
function shown(answer: RowAnswer): string {
  const { verified, wait } = answer;
  if (wait === undefined) return `${verified.charged} ${JSON.stringify(verified.result)}`;
  return `waits ${wait.reason} ${wait.site} ${wait.retryAfterMs} ${wait.parked} ${JSON.stringify(wait.last().result)}`;
}

async function answersOf(
  { verifier }: ReturnType<typeof world>,
  rows: readonly (Row & { offset: number })[],
) {
  const templated = new TemplatedRows();
  const questions = verifier.answerReady(rows, ask({}), { kind: "chunk" }, templated);
  const atHand = templated.size;
  const answers = await verifier.verify(questions, ask({}), { kind: "chunk" }, createControl(), templated);
  const all = new Map(answers.map(({ offset, answer }) => [offset, shown(answer)]));
  templated.each((offset, one) => {
    all.set(offset, `${one.template.charged} ${JSON.stringify(templatedResultOf(one))}`);
  });
  const others = answers.flatMap(({ offset, answer: { verified } }) =>
    verified === undefined ? [] : [{ offset, verified }],
  );
  return { atHand, all, answered: { templated, others } };
}

const copiesOf = (rows: readonly { offset: number; copies: number }[]) =>
  new Map(rows.filter(({ copies }) => copies > 0).map(({ offset, copies }) => [offset, copies]));

type ReportCounts = Map<string, number>;

/** Counts and reports of answered rows. */
function accountOf(rows: readonly (Row & { offset: number })[], answered: AnsweredRows) {
  const reports: ReportCounts = new Map();
  forEachResult(answered, ({ verdict, reason, cached }, count) => {
    const key = `${verdict} ${reason} ${cached}`;
    reports.set(key, (reports.get(key) ?? 0) + count);
  });
  const { counts, providers } = countRows(copiesOf(rows), answered);
  return { counts, providers: new Map(providers.map(({ provider, ...own }) => [provider, own])), reports };
}

describe("rows that fill templates", () => {
  it("are answered, counted, charged and reported as rendered results are", async () => {
    let atHand = 0;
    const check = async (found: Row[]) => {
      // Each row of a task has an address of its own.
      const rows = [...new Map(found.map((one) => [one.email, one])).values()].map((one, i) => ({
        ...one,
        offset: 3 * i,
      }));
      const rendering = world(rows, false);
      const wanted = await answersOf(rendering, rows);
      const drawing = world(rows, true);
      const came = await answersOf(drawing, rows);
      atHand += came.atHand;
      assert.equal(wanted.answered.templated.size, 0);
      assert.deepEqual(came.all, wanted.all);
      assert.equal(came.all.size, rows.length);
      assert.deepEqual(drawing.looks, rendering.looks);
      assert.deepEqual(drawing.asked.sort(), rendering.asked.sort());
      assert.deepEqual(accountOf(rows, came.answered), accountOf(rows, wanted.answered));
      // And to what it comes to when it is counted row by row.
      const none = { valid: 0, invalid: 0, risky: 0, unknown: 0 };
      const byHand = { ...none, charged: 0 };
      const byProvider = new Map<string, typeof none>();
      for (const { offset, verified } of wanted.answered.others) {
        const { verdict, checks } = verified.result;
        const count = 1 + (rows.find((one) => one.offset === offset)?.copies ?? 0);
        byHand[verdict] += count;
        if (verified.charged) byHand.charged += 1;
        const provider = checks.mx.provider ?? "";
        const own = byProvider.get(provider) ?? none;
        byProvider.set(provider, { ...own, [verdict]: own[verdict] + count });
      }
      const { counts, providers } = accountOf(rows, wanted.answered);
      assert.deepEqual(counts, byHand);
      assert.deepEqual(providers, byProvider);
    };
    await fc.assert(fc.asyncProperty(fc.array(row, { minLength: 5, maxLength: 40 }), check), {
      numRuns: 200,
    });
    assert.ok(atHand > 200, `${atHand} rows were answered at once`);
  });

  it("are none with evidence, of a test key or of a retry before it waited for its site", () => {
    const rows: (Row & { offset: number })[] = [{ email: "nobody", known: null, copies: 0, offset: 0 }];
    const { verifier } = world(rows, true);
    for (const [over, policy, atHand] of [
      [{ withEvidence: true }, { kind: "chunk" }, 0],
      [{ livemode: false }, { kind: "chunk" }, 0],
      [{}, { kind: "retry", site: "" }, 0],
      [{}, { kind: "chunk" }, 1],
    ] as const) {
      const templated = new TemplatedRows();
      assert.equal(verifier.answerReady(rows, ask(over), policy, templated).length, 1 - atHand);
      assert.equal(templated.size, atHand);
    }
  });
});
