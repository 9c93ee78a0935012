import assert from "node:assert/strict";
import { test } from "node:test";
import {
  causeOf,
  databaseWasAway,
  type Failure,
  failuresByCause,
  mayStartAgain,
  type Outage,
} from "../../../../../scripts/chaos/faults/windows.ts";

const GRACE_MS = 1_000;

const failure = (change: Partial<Failure> = {}): Failure => ({
  how: 503,
  code: "unavailable",
  target: "api-1",
  fromMs: 10_000,
  toMs: 10_100,
  needs: "database",
  ...change,
});

const outage = (kind: Outage["kind"], target: string, fromMs = 9_000, toMs = 10_050): Outage => ({
  kind,
  target,
  fromMs,
  toMs,
});

const postgres = outage("postgres-restart", "postgres");
const killed = outage("kill", "api-1");

test("a 503 is laid to the database that was away, and to the time it takes to come back", () => {
  assert.equal(causeOf(failure(), [postgres], GRACE_MS), "postgres-restart");
  assert.equal(causeOf(failure({ fromMs: 11_050, toMs: 11_060 }), [postgres], GRACE_MS), "postgres-restart");
  assert.equal(causeOf(failure({ fromMs: 11_051, toMs: 11_060 }), [postgres], GRACE_MS), null);
  assert.equal(causeOf(failure({ fromMs: 8_000, toMs: 8_999 }), [postgres], GRACE_MS), null);
  const lasting = outage("postgres-crash", "postgres", 1_000, Number.POSITIVE_INFINITY);
  assert.equal(causeOf(failure(), [lasting], GRACE_MS), "postgres-crash");
});

test("the database was away since then when an outage of it ended later, or lasts", () => {
  assert.equal(databaseWasAway([postgres], 10_050), true);
  assert.equal(databaseWasAway([postgres], 10_051), false);
  assert.equal(
    databaseWasAway([outage("postgres-crash", "postgres", 0, Number.POSITIVE_INFINITY)], 1e9),
    true,
  );
  assert.equal(databaseWasAway([outage("slow-machine", "postgres"), killed], 0), false);
});

test("only a start that waited for the database in vain is laid to it: no crash, and no failure of another kind", () => {
  assert.equal(mayStartAgain("exit code 75", [postgres], 10_000), true);
  assert.equal(mayStartAgain("exit code 75", [postgres], 10_051), false);
  for (const how of [
    "exit code 0",
    "exit code 1",
    "exit code 2",
    "exit code 139",
    "SIGSEGV",
    "SIGABRT",
    "SIGKILL",
  ])
    assert.equal(mayStartAgain(how, [postgres], 10_000), false, how);
});

test("an error of ours is never laid to anything", () => {
  for (const how of [500, 502, 504] as const)
    assert.equal(causeOf(failure({ how, code: "internal" }), [postgres, killed], GRACE_MS), null);
});

test("Redis, DNS and mail servers explain no failure of a request", () => {
  const away = (["redis-loss", "redis-restart", "dns-silence", "smtp-stall", "clock", "disk"] as const).map(
    (kind) => outage(kind, "any"),
  );
  assert.equal(causeOf(failure(), away, GRACE_MS), null);
  assert.equal(causeOf(failure({ how: "timeout", code: null }), away, GRACE_MS), null);
});

test("object storage explains what needs it, and nothing else", () => {
  const objects = outage("objects-fail", "objects");
  assert.equal(causeOf(failure({ needs: "objects" }), [objects], GRACE_MS), "objects-fail");
  assert.equal(causeOf(failure(), [objects], GRACE_MS), null);
});

test("a connection that was cut is laid to the end of the very process that was asked", () => {
  const cut = failure({ how: "cut", code: null });
  assert.equal(causeOf(cut, [killed], GRACE_MS), "kill");
  assert.equal(causeOf(cut, [outage("kill", "api-2")], GRACE_MS), null);
  assert.equal(causeOf(cut, [postgres], GRACE_MS), null);
  assert.equal(causeOf(cut, [outage("roll", "api-1")], GRACE_MS), null);
});

test("a roll explains a refused connection at the process's own address, and nothing before a balancer", () => {
  const roll = outage("roll", "api-1");
  assert.equal(causeOf(failure({ how: "refused", code: null }), [roll], GRACE_MS), "roll");
  for (const how of ["refused", "cut", 502, 503] as const)
    assert.equal(causeOf(failure({ how, code: null, target: null }), [roll], GRACE_MS), null);
});

test("what a balancer answers itself is laid to a process behind it, of the API alone", () => {
  const bad = failure({ how: 502, code: null, target: null });
  assert.equal(causeOf(bad, [killed], GRACE_MS), "kill");
  assert.equal(causeOf(bad, [outage("kill", "bulk-1")], GRACE_MS), null);
});

test("a slow machine is the cause only when nothing else is", () => {
  const slow = outage("slow-machine", "database");
  assert.equal(causeOf(failure(), [slow, postgres], GRACE_MS), "postgres-restart");
  assert.equal(causeOf(failure(), [slow], GRACE_MS), "slow-machine");
});

test("failures are counted by cause, and those without one are kept", () => {
  const strange = failure({ how: 500, code: "internal" });
  const { counts, unexplained } = failuresByCause([failure(), failure(), strange], [postgres], GRACE_MS);
  assert.deepEqual(
    [...counts],
    [
      ["503 unavailable by postgres-restart", 2],
      ["500 internal by nothing", 1],
    ],
  );
  assert.deepEqual(unexplained, [strange]);
});
