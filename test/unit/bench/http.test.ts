import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  benchCachedVerify,
  countingLate,
  cpuTarget,
  fastifyTarget,
  tailTarget,
} from "../../../bench/api/http.ts";
import type { Server } from "../../../bench/api/http-world.ts";
import { busyBetween, usageNow } from "../../../bench/cpu/busy.ts";
import { outcomeOf } from "../../../bench/report/target.ts";
import { SECTIONS } from "../../../bench/sections.ts";
import type { BenchContext } from "../../../bench/setup/context.ts";

const summary = (cpuUs: number, busy: number) => ({ perS: 1, cpuUs, busy, spread: 0 });

describe("the bench of cached answers", () => {
  it("makes all that it promises void where the machine lacks a tool, and says how to install it", async () => {
    const reason = "there is no load generator wrk: sudo apt-get install wrk";
    const section = await benchCachedVerify({ quick: true } as BenchContext, () =>
      Promise.reject(new Error(reason)),
    );
    assert.deepEqual(section.targets.map(({ id }) => id).sort(), [...(SECTIONS.http?.promises ?? [])].sort());
    for (const target of section.targets) {
      assert.equal(outcomeOf(target), "void");
      assert.equal(target.reason, reason);
    }
  });
});

describe("how busy a server was", () => {
  const usage = (atMs: number, cpuMs: number, wantedMs: number) => ({
    ...{ atMs, user: cpuMs * 600, system: cpuMs * 400, wantedMs },
  });

  it("is its CPU time over the wall clock, of all threads, or what its main thread ran and waited for a core", () => {
    assert.equal(busyBetween(usage(100, 50, 10), usage(1_100, 1_550, 510)), 1.5);
    assert.equal(busyBetween(usage(100, 50, 10), usage(1_100, 950, 1_000)), 0.99);
    assert.equal(busyBetween(usage(100, 50, 10), usage(1_100, 650, 560)), 0.6);
  });

  it("is reported by the process itself", () => {
    const { atMs, wantedMs, user } = usageNow();
    assert.ok(wantedMs > 0 && user > 0 && atMs > 0);
  });
});

describe("the figure of cached answers", () => {
  it("is raw's CPU time over ours, and says nothing where a server was idle", () => {
    assert.equal(cpuTarget(summary(8, 0.99), summary(6, 0.99)).figure, 0.75);
    assert.equal(outcomeOf(cpuTarget(summary(7, 0.95), summary(6, 0.95))), "reached");
    assert.equal(outcomeOf(cpuTarget(summary(12, 0.95), summary(6, 0.95))), "missed");
    assert.equal(outcomeOf(cpuTarget(summary(7, 0.94), summary(6, 1))), "void");
    assert.match(cpuTarget(summary(7, 1), summary(6, 0.5)).reason ?? "", /50 %/);
  });

  it("is fastify's CPU time over ours, under the same condition", () => {
    assert.equal(fastifyTarget(summary(8, 0.99), summary(24, 0.99)).figure, 3);
    assert.equal(outcomeOf(fastifyTarget(summary(10, 0.99), summary(15, 0.99))), "missed");
    assert.equal(outcomeOf(fastifyTarget(summary(8, 0.99), summary(24, 0.9))), "void");
  });

  it("is void where a server answered nothing", () => {
    const mute = { perS: 0, cpuUs: Number.POSITIVE_INFINITY, busy: 1, spread: Number.NaN };
    assert.equal(outcomeOf(fastifyTarget(summary(8, 0.99), mute)), "void");
    assert.equal(outcomeOf(cpuTarget(mute, summary(6, 0.99))), "void");
  });

  it("counts the late answers of all runs of a server, and leaves the runs as they are", async () => {
    const lates = [0, 2, 1];
    const run = { answered: 9, wrong: 0, wallMs: 1 };
    const load: Server["load"] = async () => ({ ...run, late: lates.shift() ?? 0 });
    const server = countingLate({ name: "rcpt", load });
    const how = { connections: 1, forMs: 1 };
    assert.equal((await server.load(how)).answered, 9);
    assert.equal(server.late, 0);
    await server.load(how);
    await server.load(how);
    assert.equal(server.late, 3);
  });

  it("has no tail where raw was idle, whose rate is then not known", () => {
    const run = { answered: 9, wrong: 0, perS: 1, p50Us: 1, p99Us: 5, p999Us: 5, lagP99Us: 1, waited: 0 };
    const tails = { whole: [run], ceiling: [run] };
    assert.equal(outcomeOf(tailTarget(tails, summary(6, 0.96))), "reached");
    assert.equal(outcomeOf(tailTarget(tails, summary(6, 0.9))), "void");
  });
});
