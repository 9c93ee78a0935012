import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Finding, reportOf, type WayReport } from "../../../../src/check/house/report.ts";
import { createHouseWatch } from "../../../../src/check/house/watch.ts";
import type { Path } from "../../../../src/smtp/path.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const EVERY_MS = 600_000;
const pathOf = (name: string): Path => ({ name, localAddress: name, proxy: null, heloName: "probe.test" });
const finding = (result: Finding["result"]): Finding => ({
  check: "dnsbl",
  result,
  weight: "trust",
  seen: "",
  advice: "",
});

function watched(ways: string[]) {
  const clock = createFakeClock();
  const bad = new Set<string>();
  const told: (readonly string[])[] = [];
  const addresses: Readonly<Record<string, string>>[] = [];
  const seen = new Map<string, string>();
  const changes: [way: string, before: string | null, now: string][] = [];
  const errors: unknown[] = [];
  let underWay = 0;
  let most = 0;
  let broken = false;
  const watch = createHouseWatch({
    clock,
    everyMs: EVERY_MS,
    random: () => 0.5,
    ways: ways.map(pathOf),
    async begin() {
      if (broken) throw new Error("a fault of ours");
      return {
        exchangers: [],
        async look(path): Promise<WayReport> {
          most = Math.max(most, ++underWay);
          await new Promise((resolve) => setImmediate(resolve));
          underWay--;
          return reportOf(path.name, seen.get(path.name) ?? null, clock.now(), [
            finding(bad.has(path.name) ? "fail" : "pass"),
          ]);
        },
      };
    },
    onExchangers: () => {},
    onReport: (report, before) => changes.push([report.way, before?.state ?? null, report.state]),
    onNews: ({ distrusted, seenAs }) => {
      told.push([...distrusted]);
      addresses.push(seenAs);
    },
    onError: (error) => errors.push(error),
  });
  return {
    clock,
    watch,
    bad,
    told,
    addresses,
    seen,
    changes,
    errors,
    most: () => most,
    break: (now: boolean) => (broken = now),
  };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 40; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe("the watch on our own house", () => {
  it("tells which ways are not trusted, once for each change", async () => {
    const { clock, watch, bad, told, changes } = watched(["a", "b"]);
    bad.add("b");
    watch.start();
    await settle();
    assert.deepEqual(told, [["b"]]);
    assert.deepEqual(
      watch.reports().map(({ way, trusted }) => [way, trusted]),
      [
        ["a", true],
        ["b", false],
      ],
    );
    clock.advance(EVERY_MS);
    await settle();
    assert.deepEqual(told, [["b"]]);
    bad.clear();
    clock.advance(EVERY_MS);
    await settle();
    assert.deepEqual(told, [["b"], []]);
    assert.deepEqual(
      changes.filter(([way]) => way === "b"),
      [
        ["b", null, "failing"],
        ["b", "failing", "failing"],
        ["b", "failing", "ok"],
      ],
    );
    watch.stop();
    assert.equal(clock.pending, 0);
  });

  it("says nothing while all is well", async () => {
    const { watch, told } = watched(["a", "b"]);
    watch.start();
    await settle();
    assert.deepEqual(told, []);
    watch.stop();
  });

  it("tells what servers take for our address, when it is known and when it changes", async () => {
    const { clock, watch, seen, addresses } = watched(["a", "b"]);
    seen.set("b", "8.8.8.8");
    watch.start();
    await settle();
    clock.advance(EVERY_MS);
    await settle();
    seen.set("b", "9.9.9.9");
    clock.advance(EVERY_MS);
    await settle();
    assert.deepEqual(addresses, [{ b: "8.8.8.8" }, { b: "9.9.9.9" }]);
    watch.stop();
  });

  it("keeps what it knew when a look fails for a fault of ours, and looks again", async () => {
    const world = watched(["a"]);
    world.bad.add("a");
    world.watch.start();
    await settle();
    world.break(true);
    world.clock.advance(EVERY_MS);
    await settle();
    assert.equal(world.errors.length, 1);
    assert.deepEqual([world.told, world.watch.reports().length], [[["a"]], 1]);
    world.break(false);
    world.bad.clear();
    world.clock.advance(EVERY_MS);
    await settle();
    assert.deepEqual(world.told, [["a"], []]);
    world.watch.stop();
  });

  it("looks at a few ways at a time", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `w${i}`);
    const { watch, most } = watched(names);
    watch.start();
    await settle();
    assert.deepEqual(
      watch.reports().map(({ way }) => way),
      names,
    );
    assert.ok(most() <= 4);
    watch.stop();
  });
});
