import assert from "node:assert/strict";
import { test } from "node:test";
import { rowOf, rowsOf } from "../../../../../scripts/chaos/traffic/addresses.ts";
import { addDecisions, costOf, decisionsOf, isRight } from "../../../../../scripts/chaos/traffic/truth.ts";
import { compareRows, type ResultRow, type SentRow } from "../../../../../scripts/chaos/verdict/rows.ts";

const sent: SentRow[] = [
  { email: "exists.1@a.test", truth: "exists", key: "exists.1@a.test" },
  { email: "missing.1@a.test", truth: "missing", key: "missing.1@a.test" },
  { email: "exists.1@A.TEST", truth: "exists", key: "exists.1@a.test" },
  { email: "no address", truth: "malformed", key: null },
];
const result = (email: string, verdict: string, reason: string): ResultRow => ({ email, verdict, reason });
const right: ResultRow[] = [
  result("exists.1@a.test", "valid", "accepted_mailbox"),
  result("missing.1@a.test", "invalid", "mailbox_not_found"),
  result("exists.1@A.TEST", "valid", "accepted_mailbox"),
  result("no address", "invalid", "invalid_format"),
];

test("results as they should be: nothing lost, doubled, misplaced or wrong; a repeat and a malformed row cost nothing", () => {
  assert.deepEqual(compareRows(sent, right), {
    ...{ sent: 4, received: 4, lost: 0, duplicates: 0, misplaced: 0, units: 2 },
    wrong: [],
  });
});

test("a row that is missing is lost, and those behind it are out of place", () => {
  const { lost, duplicates, misplaced } = compareRows(sent, right.toSpliced(1, 1));
  assert.deepEqual({ lost, duplicates, misplaced }, { lost: 1, duplicates: 0, misplaced: 3 });
});

test("a row that comes twice is a duplicate", () => {
  const twice = [...right, ...right.slice(3)];
  const { lost, duplicates, misplaced } = compareRows(sent, twice);
  assert.deepEqual({ lost, duplicates, misplaced }, { lost: 0, duplicates: 1, misplaced: 0 });
});

test("two rows in each other's place are neither lost nor doubled, but out of place", () => {
  const [first, second, ...rest] = right as [ResultRow, ResultRow, ...ResultRow[]];
  const { lost, duplicates, misplaced } = compareRows(sent, [second, first, ...rest]);
  assert.deepEqual({ lost, duplicates, misplaced }, { lost: 0, duplicates: 0, misplaced: 2 });
});

test("a verdict against the truth is wrong, a failure is not, and costs nothing", () => {
  const condemned = right.with(0, result("exists.1@a.test", "invalid", "mailbox_not_found"));
  assert.deepEqual(compareRows(sent, condemned).wrong, [
    { at: 0, email: "exists.1@a.test", said: "invalid mailbox_not_found" },
  ]);
  const failed = right.with(1, result("missing.1@a.test", "unknown", "timeout"));
  assert.deepEqual(compareRows(sent, failed).wrong, []);
  assert.equal(compareRows(sent, failed).units, 1);
});

test("our own error is never right, nor is a failure of a row that needs no server", () => {
  assert.equal(isRight("exists", { verdict: "unknown", reason: "internal_error" }), false);
  assert.equal(isRight("malformed", { verdict: "unknown", reason: "timeout" }), false);
  assert.equal(isRight("missing", { verdict: "valid", reason: "accepted_mailbox" }), false);
  assert.equal(costOf({ verdict: "unknown", reason: "provider_unverifiable" }), 1);
});

test("an answer that failed to be found is undecided, whatever it costs; one that cannot be known is an answer", () => {
  const said = [
    { verdict: "valid", reason: "accepted_mailbox" },
    { verdict: "unknown", reason: "timeout" },
    { verdict: "unknown", reason: "provider_unverifiable" },
  ];
  assert.deepEqual(decisionsOf(said), { answered: 3, undecided: 1 });
  const all = addDecisions([decisionsOf(said), decisionsOf([]), { answered: 1, undecided: 1 }]);
  assert.deepEqual(all, { answered: 4, undecided: 2 });
});

test("a list has every kind of row, repeats of rows that stand before, and no address of another list", () => {
  const rows = rowsOf("x", 1_000);
  assert.equal(new Set(rows.map(({ truth }) => truth)).size, 7);
  const keys = rows.flatMap(({ key }) => (key === null ? [] : [key]));
  assert.ok(new Set(keys).size < keys.length);
  const others = new Set(rowsOf("y", 1_000).map(({ email }) => email));
  assert.ok(rows.every(({ email }) => !others.has(email)));
  assert.deepEqual(rowOf("x", 321), rows[321]);
});
