import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countVerdicts, forEachResult, separateDrawn } from "../../../src/bulk/answered-rows.ts";
import { createControl } from "../../../src/bulk/control.ts";
import type { SortedRows } from "../../../src/bulk/deferrals.ts";
import {
  createRowVerifier,
  type RowAnswer,
  type RowsVerifyOptions,
  type RowVerifier,
} from "../../../src/bulk/row-verifier.ts";
import { buildRoleHints, openRoleHints } from "../../../src/check/lists/role-hints.ts";
import type { CheckPool } from "../../../src/check/pool.ts";
import { siteOf } from "../../../src/check/site.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { ValuePlace } from "../../../src/services/bulk/csv/value-place.ts";
import { DrawnRows } from "../../../src/services/bulk/drawn-rows.ts";
import type { AddressQuestion } from "../../../src/services/verify/address-question.ts";
import { createRowDrawer, drawnResultOf } from "../../../src/services/verify/draw-rows.ts";
import { createExaminer, type ExaminerDeps } from "../../../src/services/verify/examine.ts";
import { createBatchExaminer } from "../../../src/services/verify/examine-batch.ts";
import type { CacheEntry } from "../../../src/store/cache-entry.ts";
import { EvidenceMemory } from "../../../src/store/evidence-memory.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import fc from "../../support/properties.ts";
import { silentLog } from "../../support/store.ts";

/** Rows whose answers are at hand, held to the general way: of the same rows, with the same memory, at the same moment. */

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

/** What memory has of the row's address: nothing, evidence as drawn rows have it, or of a kind that is not drawn. */
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

/**
 * A verifier whose memory knows the rows, and whose pool answers all others.
 * @param ownMemory it is the service's own, else a Map
 */
function world(rows: readonly Row[], ownMemory: boolean) {
  const clock = createFakeClock();
  const entries = new Map<string, CacheEntry>();
  const memory = new EvidenceMemory(1_000, clock);
  for (const [at, { email: key, known: evidence }] of rows.entries()) {
    if (evidence === null) continue;
    const entry = { evidence, storedAt: clock.now() - at, ttlS: 60 + (at % 2) };
    if (ownMemory) memory.keep(key, entry);
    else entries.set(key, entry);
  }
  const looks = { memory: 0, miss: 0 };
  const asked: string[] = [];
  const understanding = createExaminer({ clock, lists, isPromoted: () => false } as unknown as ExaminerDeps);
  const understood: string[] = [];
  const examiner: typeof understanding = {
    ...understanding,
    understand(email, withEvidence, asker) {
      understood.push(email);
      return understanding.understand(email, withEvidence, asker);
    },
  };
  const batches = createBatchExaminer({
    clock,
    log: silentLog,
    lists,
    cache: {
      peek: (_, key) => memory.peek(key) ?? entries.get(key),
      glimpse: (_, place) => memory.glimpse("", place),
      fetchMany: async (questions) => questions.map(() => undefined),
      storeMany() {},
    },
    pool: {
      queueSiteOf: async () => null,
      checkBatch(addresses: readonly string[]) {
        asked.push(...addresses);
        const lines = addresses.map(({ length }) => evidenceWith({ smtp: smtpWith({ latencyMs: length }) }));
        return { outcomes: Promise.resolve(lines), remaining: 0, finishEarly() {}, cancel() {} };
      },
    } as Pick<CheckPool, "checkBatch" | "queueSiteOf">,
    keep: () => ({ ttlS: 60, shared: true }),
    signals: { spf: true, dmarc: true },
    onLookup(result, count) {
      looks[result] += count;
    },
  });
  const verifier = createRowVerifier({
    ...{
      clock,
      examiner,
      batches,
      drawing: {
        drawer: createRowDrawer({ clock, examiner, limits: LIMITS.bulk.templates }),
        mayBeRole: openRoleHints(buildRoleHints(["info"])),
        promotedAsOf: () => 1,
      },
      sites: { siteOf },
      roomAt: () => 1,
    },
    testKeys: { answer: async () => assert.fail("no row of a test key") },
  });
  return { verifier, looks, asked, understood, understanding };
}

/** As JSON, with what it costs, or what it waits for. */
function shown(answer: RowAnswer): string {
  const { verified, wait } = answer;
  if (wait === undefined) return `${verified.charged} ${JSON.stringify(verified.result)}`;
  return `waits ${wait.reason} ${wait.site} ${wait.retryAfterMs} ${wait.parked} ${JSON.stringify(wait.last().result)}`;
}

/** As it stands in a source, with something round it. */
function cellOf(email: string): ValuePlace {
  const bytes = Buffer.from(`1,${email},x`);
  return { bytes, from: 2, to: bytes.length - 2 };
}

/** @returns rows that are not drawn, and their questions */
function drawReady<T extends Row & { offset: number }>(
  verifier: RowVerifier,
  rows: readonly T[],
  drawn: DrawnRows,
) {
  const ready = verifier.drawReady(ask({}), drawn);
  assert.ok(ready !== null);
  const others = rows.filter(({ offset, email }) => ready.read(offset, cellOf(email)) !== null);
  return { others, questions: ready.end() };
}

const copiesOf = (rows: readonly { offset: number; copies: number }[]) =>
  new Map(rows.filter(({ copies }) => copies > 0).map(({ offset, copies }) => [offset, copies]));

type Told = Map<string, number>;

/** What is counted and told of rows that are answered; who waits is not counted here. */
function accountOf(
  rows: readonly (Row & { offset: number })[],
  drawn: DrawnRows,
  answers: SortedRows["answered"],
) {
  const all = separateDrawn(drawn, answers);
  const told: Told = new Map();
  forEachResult(all, ({ verdict, reason, cached }, count) => {
    const key = `${verdict} ${reason} ${cached}`;
    told.set(key, (told.get(key) ?? 0) + count);
  });
  return { counts: countVerdicts(copiesOf(rows), all), told };
}

const answeredOf = (answers: readonly { offset: number; answer: RowAnswer }[]): SortedRows["answered"] =>
  answers.flatMap(({ offset, answer: { verified } }) =>
    verified === undefined ? [] : [{ offset, verified }],
  );

describe("rows whose answers are at hand", () => {
  it("are answered, counted, charged and told of as the general way does, and the others are left to it", async () => {
    let drawnRows = 0;
    const check = async (found: Row[]) => {
      // Each row of a task has an address of its own.
      const rows = [...new Map(found.map((one) => [one.email, one])).values()].map((one, i) => ({
        ...one,
        offset: 3 * i,
      }));
      const emails = rows.map((one) => one.email);
      const general = world(rows, false);
      const wanted = await general.verifier.verify(emails, ask({}), { kind: "chunk" }, createControl());

      const short = world(rows, true);
      const drawn = new DrawnRows();
      const { others, questions } = drawReady(short.verifier, rows, drawn);
      drawnRows += drawn.size;
      const otherEmails = others.map((one) => one.email);
      assert.deepEqual(
        questions.map(({ email }) => email),
        otherEmails,
      );
      const left = await short.verifier.verify(
        ...([otherEmails, ask({}), { kind: "chunk" }, createControl(), null, questions] as const),
      );
      const came = new Map(others.map(({ offset }, i) => [offset, shown(left[i] as RowAnswer)]));
      drawn.each((offset, one) => {
        came.set(offset, `${one.template.charged} ${JSON.stringify(drawnResultOf(one))}`);
      });
      for (const [i, { offset }] of rows.entries())
        assert.equal(came.get(offset), shown(wanted[i] as RowAnswer));
      assert.equal(came.size, rows.length);
      assert.deepEqual(short.looks, general.looks);
      // The order is that in which domains come first, of the rows that are asked about.
      assert.deepEqual(short.asked.sort(), general.asked.sort());
      const inGeneral = answeredOf(wanted.map((answer, i) => ({ offset: rows[i]?.offset ?? -1, answer })));
      const inShort = answeredOf(left.map((answer, i) => ({ offset: others[i]?.offset ?? -1, answer })));
      assert.deepEqual(accountOf(rows, drawn, inShort), accountOf(rows, new DrawnRows(), inGeneral));
      // And to what it comes to when it is counted row by row.
      const byHand = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };
      for (const { offset, verified } of inGeneral) {
        byHand[verified.result.verdict] += 1 + (rows.find((one) => one.offset === offset)?.copies ?? 0);
        if (verified.charged) byHand.charged += 1;
      }
      assert.deepEqual(countVerdicts(copiesOf(rows), separateDrawn(new DrawnRows(), inGeneral)), byHand);
    };
    await fc.assert(fc.asyncProperty(fc.array(row, { minLength: 5, maxLength: 40 }), check), {
      numRuns: 200,
    });
    assert.ok(drawnRows > 200, `${drawnRows} rows were drawn`);
  });

  it("are looked for by bytes: of a plain address that nobody knows no text is read, and its question is the same", () => {
    const emails = [
      ...DOMAINS.flatMap((domain) => LOCALS.map((local) => `${local}@${domain}`)),
      ...["nobody", "", "jane@ONE.test", "jane@one..test", " jane@one.test"],
    ];
    const rows = emails.map((one, offset): Row & { offset: number } => ({
      ...{ email: one, known: null, copies: 0, offset },
    }));
    const { verifier, understood, understanding } = world(rows, true);
    const { questions } = drawReady(verifier, rows, new DrawnRows());
    const bare = ({ isMemoryMiss: missed, isOrdinary: ordinary, ...rest }: AddressQuestion) => rest;
    const { asker } = ask({});
    for (const question of questions)
      assert.deepEqual(bare(question), bare(understanding.understand(question.email, false, asker)));
    const ordinary = questions.filter((question) => question.isOrdinary).map((question) => question.email);
    assert.deepEqual(ordinary.slice(0, 4), [
      "jane@one.test",
      "mary.k@one.test",
      "tom@one.test",
      "tim@one.test",
    ]);
    for (const one of ordinary) assert.ok(!understood.includes(one), one);
    for (const one of ["info@one.test", "o'neil@one.test", "12345@one.test", "jane@ONE.test"])
      assert.ok(understood.includes(one), one);
  });

  it("are none with evidence or of a test key: all rows go the general way", () => {
    const rows: (Row & { offset: number })[] = [{ email: "nobody", known: null, copies: 0, offset: 0 }];
    const { verifier } = world(rows, true);
    const drawn = new DrawnRows();
    for (const over of [{ withEvidence: true }, { livemode: false }])
      assert.equal(verifier.drawReady(ask(over), drawn), null);
    assert.equal(drawn.size, 0);
    assert.deepEqual(drawReady(verifier, rows, drawn), { others: [], questions: [] });
    assert.equal(drawn.size, 1);
  });
});
