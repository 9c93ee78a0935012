import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Resources } from "../../../../../scripts/chaos/deployment/resources.ts";
import type { Failure, Outage } from "../../../../../scripts/chaos/faults/windows.ts";
import type { Account, Storm } from "../../../../../scripts/chaos/storm.ts";
import { newAsker } from "../../../../../scripts/chaos/traffic/singles.ts";
import { exitCodeOf } from "../../../../../scripts/chaos/verdict/closing.ts";
import { GRACE_MS, judgeStorm } from "../../../../../scripts/chaos/verdict/judge.ts";

/** Each bound in a storm's closing table can be missed alone. */
const RESOURCES: Resources = { rssMb: 100, descriptors: 40, threads: 12 };
const members = (change: Partial<Resources> = {}) =>
  new Map([
    ["api-0", RESOURCES],
    ["bulk-0", { ...RESOURCES, ...change }],
  ]);

const OUTAGE: Outage = { kind: "postgres-restart", target: "postgres", fromMs: 20_000, toMs: 22_000 };
const FAILURE: Failure = {
  how: 503,
  code: "unavailable",
  target: "api-1",
  fromMs: 21_000,
  toMs: 21_010,
  needs: "database",
};
const FAULT = { kind: "postgres-restart", atMs: 0, holdMs: 0, pick: 0 } as const;

function account(charged: number, ledger: Partial<Account["ledger"]> = {}, asker: object = {}): Account {
  return {
    asker: { ...newAsker("key"), charged, answered: charged, ...asker },
    ledger: { used: charged, held: 0, leased: 0, written: 0, ...ledger },
  };
}

const ROWS: Storm["rows"] = {
  ...{ jobs: 3, rowsIn: 300, rowsOut: 300, lost: 0, duplicates: 0, misplaced: 0, units: 280 },
  ...{ wrong: [], unfinished: [], decisions: new Map() },
};
const LEDGER: Storm["bulk"] = { used: 280, held: 0, leased: 0, written: 0 };
const TIDY: Storm["hourLater"] = {
  tidiedS: 1,
  before: { objects: ["source", "results"], parts: ["results0"] },
  after: { objects: ["results"], parts: [] },
  readable: ["results"],
};

const GOOD: Storm = {
  faults: [FAULT],
  outages: [OUTAGE],
  impossible: [],
  requests: { total: 1_000, failures: [FAILURE], counts: new Map([["200", 999]]) },
  calm: [],
  calmSingles: { answered: 200, undecided: 20 },
  calmRows: { answered: 2_000, undecided: 200 },
  rows: ROWS,
  jobsFound: 3,
  refusedLists: [],
  wrongSingles: [],
  single: account(500, { used: 507, written: 4 }, { cutOff: 3 }),
  capped: { ...account(40, {}, { overQuota: 12 }), limit: 40 },
  bulk: LEDGER,
  untold: 0,
  badlySigned: 0,
  deliveries: 4,
  settledS: 3,
  leftovers: { "quota holds": 0 },
  hourLater: TIDY,
  crashes: [],
  resources: { before: members(), peaks: members(), after: members() },
  descriptors: new Map(),
};

const late: Failure = { ...FAILURE, fromMs: OUTAGE.toMs + GRACE_MS + 1, toMs: OUTAGE.toMs + GRACE_MS + 2 };

/** By the name of the bound: what misses it. */
const MISSES: Record<string, Partial<Storm>[]> = {
  "failures beyond an outage": [
    { requests: { ...GOOD.requests, failures: [FAILURE, late] } },
    { requests: { ...GOOD.requests, failures: [{ ...FAILURE, how: 500, code: "internal_error" }] } },
  ],
  "failures without faults": [{ calm: [late] }],
  "kinds that never came about": [{ faults: [FAULT, { ...FAULT, kind: "disk" }] }],
  "jobs that did not complete": [{ rows: { ...ROWS, unfinished: ["job: failed null"] } }],
  "jobs nobody asked for": [{ jobsFound: 4 }],
  "lists that were not taken": [{ refusedLists: ["/v1/verify/bulk: 400 validation_failed"] }],
  "rows out": [{ rows: { ...ROWS, rowsOut: 299 } }, { rows: { ...ROWS, rowsOut: 301 } }],
  "rows lost": [{ rows: { ...ROWS, lost: 1 } }],
  duplicates: [{ rows: { ...ROWS, duplicates: 1 } }],
  "rows out of place": [{ rows: { ...ROWS, misplaced: 1 } }],
  "wrong verdicts of rows": [{ rows: { ...ROWS, wrong: ["job row 1: invalid mailbox_not_found"] } }],
  "rows undecided without faults": [
    { calmRows: { answered: 2_000, undecided: 201 } },
    { calmRows: { answered: 0, undecided: 0 } },
  ],
  "wrong charges": [
    { bulk: { ...LEDGER, used: 281 } },
    { bulk: { ...LEDGER, used: 279 } },
    { single: account(500, { used: 508, written: 4 }, { cutOff: 3 }) },
    { single: account(500, { used: 499 }) },
    { capped: { ...account(40, { used: 39 }), limit: 40 } },
  ],
  "used under a limit": [{ capped: { ...account(41), limit: 40 } }],
  "singles refused for no reason": [
    { single: account(500, {}, { refused: new Map([["429 rate_limited", 1]]) }) },
    { capped: { ...account(40, {}, { refused: new Map([["401 unauthorized", 1]]) }), limit: 40 } },
  ],
  "wrong verdicts of singles": [{ wrongSingles: ["a@b.test: valid accepted_mailbox"] }],
  "singles undecided without faults": [
    { calmSingles: { answered: 200, undecided: 21 } },
    { calmSingles: { answered: 0, undecided: 0 } },
  ],
  "jobs whose end was not told": [{ untold: 1 }],
  "deliveries signed wrongly": [{ badlySigned: 1 }],
  settled: [{ settledS: null }],
  "left over": [{ leftovers: { "quota holds": 1 } }],
  "processes that ended by themselves": [{ crashes: ["api-0: SIGSEGV"] }],
  "  tidied": [{ hourLater: { ...TIDY, tidiedS: null } }],
  "  objects that nobody may read": [
    { hourLater: { ...TIDY, after: { objects: ["results", "source"], parts: [] } } },
  ],
  "  objects missing": [{ hourLater: { ...TIDY, after: { objects: [], parts: [] } } }],
  "  unfinished uploads in parts": [
    { hourLater: { ...TIDY, after: { ...TIDY.after, parts: ["results0"] } } },
    { hourLater: { ...TIDY, before: { ...TIDY.before, parts: [] } } },
  ],
  "processes that grew": [
    { resources: { ...GOOD.resources, after: members({ rssMb: 196 }) } },
    { resources: { ...GOOD.resources, after: members({ descriptors: 65 }) } },
    { resources: { ...GOOD.resources, after: members({ threads: 16 }) } },
    { resources: { ...GOOD.resources, after: new Map([["api-0", RESOURCES]]) } },
    { resources: { ...GOOD.resources, before: new Map([["api-0", RESOURCES]]) } },
    { resources: { before: new Map(), peaks: new Map(), after: new Map() } },
  ],
};

const missedBy = (change: Partial<Storm>) =>
  judgeStorm({ ...GOOD, ...change })
    .findings.filter(({ ok }) => !ok)
    .map(({ name }) => name);

describe("the closing table of a storm", () => {
  it("has no bound that is missed where all is as it should be", () => {
    const { findings, details } = judgeStorm(GOOD);
    assert.deepEqual(missedBy({}), []);
    assert.deepEqual(details, []);
    assert.equal(exitCodeOf(findings), 0);
  });

  it("has no bound beside those that are shown here to be missed", () => {
    const bounded = judgeStorm(GOOD).findings.filter(({ bound }) => bound !== null);
    assert.deepEqual(bounded.map(({ name }) => name).sort(), Object.keys(MISSES).sort());
  });

  for (const [name, changes] of Object.entries(MISSES))
    it(`misses "${name.trim()}" by itself`, () => {
      for (const change of changes) {
        assert.deepEqual(missedBy(change), [name], JSON.stringify(change));
        assert.equal(exitCodeOf(judgeStorm({ ...GOOD, ...change }).findings), 1);
      }
    });

  it("says in detail what it misses", () => {
    const detailsOf = (change: Partial<Storm>) => judgeStorm({ ...GOOD, ...change }).details;
    assert.deepEqual(detailsOf({ faults: [FAULT, { ...FAULT, kind: "disk" }] }), [
      "disk was planned, and befell nobody",
    ]);
    assert.deepEqual(detailsOf({ crashes: ["api-0: SIGSEGV"] }), ["api-0: SIGSEGV"]);
    assert.deepEqual(
      detailsOf({ resources: { ...GOOD.resources, after: new Map([["api-0", RESOURCES]]) } }),
      ["bulk-0: was not there in the end"],
    );
    assert.match(
      detailsOf({ requests: { ...GOOD.requests, failures: [late] } })[0] ?? "",
      /^503 unavailable of api-1/,
    );
  });

  it("asks of no kind that it come about where the machine cannot bring it about", () => {
    const faults = [FAULT, { ...FAULT, kind: "clock" as const }];
    assert.deepEqual(missedBy({ faults, impossible: ["clock"] }), []);
    assert.deepEqual(missedBy({ faults }), ["kinds that never came about"]);
  });
});
