import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import {
  type RouteReport,
  routeReportOf,
  type SeenAddress,
  type SelfCheckFinding,
} from "../../../src/egress/self-check/report.ts";
import type { SelfCheckShare, SharedSelfCheck } from "../../../src/egress/self-check/share.ts";
import { createSelfCheckWatch } from "../../../src/engine/preflight-watch.ts";
import type { EgressRoute } from "../../../src/smtp/wire/egress-routes.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

const EVERY_MS = 600_000;
const pathOf = (name: string): EgressRoute => ({
  name,
  localAddress: name,
  proxy: null,
  heloName: "probe.test",
});
const finding = (result: SelfCheckFinding["result"]): SelfCheckFinding => ({
  check: "dnsbl",
  result,
  weight: "trust",
  seen: "",
  advice: "",
});

/** The state that processes of an egress share; `away`: it does not answer. */
function createMeeting(clock: FakeClock) {
  const meeting = { look: null as string | null, leader: "", untilMs: 0, away: false };
  let processes = 0;
  return Object.assign(meeting, {
    join(): SelfCheckShare {
      const self = `p${processes++}`;
      const present = async () => {
        if (meeting.away) throw new Error("away");
      };
      return {
        async read() {
          await present();
          return meeting.look === null ? null : (JSON.parse(meeting.look) as SharedSelfCheck);
        },
        async acquireLead(ms) {
          await present();
          if (meeting.leader !== self && clock.monotonic() < meeting.untilMs) return false;
          Object.assign(meeting, { leader: self, untilMs: clock.monotonic() + ms });
          return true;
        },
        async publish(look) {
          await present();
          meeting.look = JSON.stringify(look);
        },
      };
    },
  });
}

function watched(
  ways: string[],
  clock = createFakeClock(),
  share = createMeeting(clock).join(),
  everyMs = EVERY_MS,
) {
  const bad = new Set<string>();
  /** The finding of the next checks; null: as the address is, good or bad. */
  const finds: { now: SelfCheckFinding | null } = { now: null };
  const asked: (readonly SeenAddress[])[] = [];
  const told: (readonly string[])[] = [];
  const addresses: Readonly<Record<string, string>>[] = [];
  const seen = new Map<string, string>();
  const changes: [way: string, before: string | null, now: string][] = [];
  const errors: unknown[] = [];
  let underWay = 0;
  let most = 0;
  let broken = false;
  const watch = createSelfCheckWatch({
    clock,
    everyMs,
    share,
    random: () => 0.5,
    routes: ways.map(pathOf),
    async startPreflight() {
      if (broken) throw new Error("a fault of ours");
      return {
        exchangers: [],
        async checkRoute(path, known = []): Promise<RouteReport> {
          asked.push(known);
          most = Math.max(most, ++underWay);
          await new Promise((resolve) => setImmediate(resolve));
          underWay--;
          return routeReportOf(path.name, seen.get(path.name) ?? null, clock.now(), [
            finds.now ?? finding(bad.has(path.name) ? "fail" : "pass"),
          ]);
        },
      };
    },
    onExchangers: () => {},
    onReport: (report, before) => changes.push([report.way, before?.state ?? null, report.state]),
    onUpdate: ({ distrusted, seenAs }) => {
      told.push([...distrusted]);
      addresses.push(seenAs);
    },
    onError: (error) => errors.push(error),
  });
  return {
    clock,
    watch,
    bad,
    finds,
    asked,
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

describe("the preflight watch", () => {
  it("reports the untrusted routes, once for each change", async () => {
    const { clock, watch, bad, told, changes } = watched(["a", "b"]);
    bad.add("b");
    void watch.start();
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
    void watch.start();
    await settle();
    assert.deepEqual(told, []);
    watch.stop();
  });

  it("reports the address that servers see, when it is known and when it changes", async () => {
    const { clock, watch, seen, addresses } = watched(["a", "b"]);
    seen.set("b", "8.8.8.8");
    void watch.start();
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
    void world.watch.start();
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
    void watch.start();
    await settle();
    assert.deepEqual(
      watch.reports().map(({ way }) => way),
      names,
    );
    assert.ok(most() <= 4);
    watch.stop();
  });
});

describe("trust in a route", () => {
  const told = async (results: SelfCheckFinding[]) => {
    const world = watched(["a"]);
    await world.watch.start();
    await settle();
    for (const result of results) {
      world.finds.now = result;
      world.clock.advance(EVERY_MS);
      await settle();
    }
    world.watch.stop();
    return world;
  };
  const listed: SelfCheckFinding = { ...finding("fail"), failing: ["8.8.8.8 bl.test"], untold: [] };

  it("does not come back with a look that cannot tell", async () => {
    const silent: SelfCheckFinding = { ...finding("unknown"), untold: ["8.8.8.8 bl.test"] };
    assert.deepEqual((await told([listed, silent, finding("unknown")])).told, [["a"]]);
    assert.deepEqual((await told([listed, silent, finding("pass")])).told, [["a"], []]);
  });

  it("does not come back with another list's good word", async () => {
    const other: SelfCheckFinding = { ...finding("pass"), untold: ["8.8.8.8 bl.test"] };
    const { told: news, watch } = await told([listed, other]);
    assert.deepEqual([news, watch.reports()[0]?.state], [[["a"]], "failing"]);
    assert.deepEqual((await told([listed, { ...finding("pass"), untold: ["9.9.9.9 bl.test"] }])).told, [
      ["a"],
      [],
    ]);
  });

  it("returns when no check had a result for a day", async () => {
    const looks = LIMITS.selfCheck.rememberedMs / EVERY_MS;
    const silent = Array.from({ length: looks - 1 }, () => finding("unknown"));
    assert.deepEqual((await told([listed, ...silent])).told, [["a"]]);
    assert.deepEqual((await told([listed, ...silent, finding("unknown")])).told, [["a"], []]);
  });

  it("is looked at again soon where a listing could not be proved, a few times in a row", async () => {
    const world = watched(["a"]);
    world.finds.now = { ...finding("unknown"), untold: ["8.8.8.8 bl.test"], again: true };
    await world.watch.start();
    await settle();
    const { retryMs: againMs, retries: againTimes } = LIMITS.selfCheck;
    for (let i = 0; i < againTimes; i++) {
      assert.equal(world.asked.length, i + 1);
      world.clock.advance(againMs);
      await settle();
    }
    world.clock.advance(EVERY_MS - 1);
    await settle();
    assert.equal(world.asked.length, againTimes + 1);
    world.clock.advance(LIMITS.selfCheck.followMs);
    await settle();
    assert.equal(world.asked.length, againTimes + 2);
    world.watch.stop();
  });
});

describe("the processes of an egress", () => {
  it("look once between them, and all know what was found", async () => {
    const clock = createFakeClock();
    const meeting = createMeeting(clock);
    const worlds = Array.from({ length: 5 }, () => watched(["a"], clock, meeting.join()));
    for (const { bad } of worlds) bad.add("a");
    await Promise.all(worlds.map(({ watch }) => watch.start()));
    await settle();
    for (let ms = 0; ms < EVERY_MS * 3; ms += LIMITS.selfCheck.followMs) {
      clock.advance(LIMITS.selfCheck.followMs);
      await settle();
    }
    const looks = worlds.reduce((sum, { asked }) => sum + asked.length, 0);
    assert.ok(looks >= 3 && looks <= 4, `${looks} looks`);
    for (const { told, watch } of worlds) {
      assert.deepEqual(told, [["a"]]);
      watch.stop();
    }
  });

  it("know what was found before they have looked themselves", async () => {
    const clock = createFakeClock();
    const meeting = createMeeting(clock);
    const first = watched(["a"], clock, meeting.join());
    first.bad.add("a");
    await first.watch.start();
    await settle();
    first.watch.stop();
    const second = watched(["a"], clock, meeting.join());
    await second.watch.start();
    assert.deepEqual([second.told, second.asked.length], [[["a"]], 0]);
    second.watch.stop();
  });

  it("take over from one that died, and continue from its findings", async () => {
    const clock = createFakeClock();
    const meeting = createMeeting(clock);
    const first = watched(["a"], clock, meeting.join());
    first.bad.add("a");
    await first.watch.start();
    await settle();
    first.watch.stop();
    const second = watched(["a"], clock, meeting.join());
    second.finds.now = finding("unknown");
    await second.watch.start();
    for (let ms = 0; ms <= EVERY_MS + LIMITS.selfCheck.followMs; ms += LIMITS.selfCheck.followMs) {
      await settle();
      clock.advance(LIMITS.selfCheck.followMs);
    }
    await settle();
    assert.equal(second.asked.length, 1);
    assert.deepEqual([second.told, second.watch.reports()[0]?.trusted], [[["a"]], false]);
    second.watch.stop();
  });

  it("look each for themselves while they cannot meet, and start no later for it", async () => {
    const clock = createFakeClock();
    const meeting = createMeeting(clock);
    meeting.away = true;
    const worlds = [watched(["a"], clock, meeting.join()), watched(["a"], clock, meeting.join())];
    await Promise.all(worlds.map(({ watch }) => watch.start()));
    await settle();
    assert.deepEqual(
      worlds.map(({ asked }) => asked.length),
      [1, 1],
    );
    const silent: SelfCheckShare = {
      read: () => new Promise(() => {}),
      acquireLead: async () => true,
      publish: async () => {},
    };
    const late = watched(["a"], clock, silent);
    const started = late.watch.start();
    clock.advance(LIMITS.selfCheck.readMs);
    await started;
    for (const { watch } of [...worlds, late]) watch.stop();
  });
});
