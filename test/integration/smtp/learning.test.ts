import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createEgressSlots, type EgressSlots } from "../../../src/egress/egress-slots.ts";
import { createSiteCaps, type SiteCaps } from "../../../src/egress/site-caps.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { createPoolFixture, type PoolFixture, type RcptOptions, summary } from "./fixture.ts";
import { type Answer, createScriptedServer, type Dialogue, type ScriptedServer } from "./scripted-server.ts";

type Script = (line: string, dialogue: Dialogue) => Answer | undefined;

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function start(script?: Script): Promise<{ server: ScriptedServer; fixture: PoolFixture }> {
  const server = await createScriptedServer(script);
  const fixture = createPoolFixture(server.port);
  ends.push(async () => {
    await fixture.end();
    await server.close();
  });
  return { server, fixture };
}

/** Asks about `count` recipients at once. @returns how many ended how */
async function askAll(
  fixture: PoolFixture,
  count: number,
  nameOf: (i: number) => string,
  options: RcptOptions = {},
): Promise<Record<string, number>> {
  const jobs = Array.from({ length: count }, (_, i) => fixture.rcpt(`${nameOf(i)}${i}@x.test`, options));
  return countOf((await Promise.all(jobs)).map(summary));
}

function countOf(ends: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const end of ends) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}

const count = (lines: readonly string[], start: string) =>
  lines.filter((line) => line.startsWith(start)).length;
const missing = () => "missing";
const mixed = (i: number) => (i % 7 < 2 ? "missing" : "user");

describe("a well-behaved server", () => {
  it("is asked in as few writes as its depth allows", async () => {
    const { server, fixture } = await start();
    assert.deepEqual(await askAll(fixture, 300, () => "user"), { "rcpt 250": 300 });
    // 1 + 2 + … + 10, then 10 at a time, a session of 100 after another.
    assert.deepEqual([server.writes, server.connections.length], [15 + 10 + 10, 3]);
  });

  it("that refuses everybody is no trouble either", async () => {
    const { server, fixture } = await start();
    assert.deepEqual(await askAll(fixture, 300, missing), { "rcpt 550": 300 });
    assert.deepEqual([server.writes, server.connections.length], [35, 3]);
  });
});

/** Says `words` and hangs up at the next MAIL or RCPT of a session that has had `most` of `what`. */
function limited(
  what: "transactions" | "rejections",
  most: number,
  words: string,
  onMet: () => void,
): Script {
  return (line, { lines }) => {
    if (!line.startsWith("MAIL") && !line.startsWith("RCPT")) return undefined;
    const had = count(lines, what === "transactions" ? "RSET" : "RCPT TO:<missing");
    if (had < most) return undefined;
    onMet();
    return { close: words };
  };
}

describe("a server that ends sessions after so many", () => {
  for (const [what, words] of [
    ["rejections, and says so", "421 4.7.0 mx.test Error: too many errors\r\n"],
    ["rejections, without naming them", "421 4.3.2 mx.test Closing\r\n"],
    ["rejections, without a word", ""],
  ] as const)
    it(`${what}: is left before, after a few have met it`, async () => {
      let met = 0;
      const { server, fixture } = await start(limited("rejections", 6, words, () => met++));
      assert.deepEqual(await askAll(fixture, 300, missing), { "rcpt 550": 300 });
      assert.ok(met >= 1 && met <= 4, `${met} sessions met it`);
      assert.ok(server.connections.length <= 300 / 6 + 10, `${server.connections.length} sessions`);
    });

  it("rejections: accepted recipients do not count", async () => {
    let met = 0;
    const { server, fixture } = await start(limited("rejections", 4, "421 4.3.2 Closing\r\n", () => met++));
    assert.deepEqual(await askAll(fixture, 350, mixed), { "rcpt 250": 250, "rcpt 550": 100 });
    assert.ok(met <= 4, `${met} sessions met it`);
    assert.ok(server.connections.length <= 40, `${server.connections.length} sessions`);
  });

  it("transactions: is left before, whatever it answers", async () => {
    let met = 0;
    const { server, fixture } = await start(limited("transactions", 3, "421 4.3.2 Closing\r\n", () => met++));
    assert.deepEqual(await askAll(fixture, 350, mixed), { "rcpt 250": 250, "rcpt 550": 100 });
    assert.ok(met <= 5, `${met} sessions met it`);
    const full = server.connections.filter((lines) => count(lines, "RSET") === 3).length;
    assert.ok(full >= 110, `${full} sessions went as far as they could`);
  });

  it("recipients, with 4.5.3: is left before", async () => {
    let met = 0;
    const { fixture } = await start((line, { lines }) => {
      if (!line.startsWith("RCPT") || count(lines, "RCPT") < 5) return undefined;
      met++;
      return "452 4.5.3 Too many recipients\r\n";
    });
    assert.deepEqual(await askAll(fixture, 300, mixed), { "rcpt 250": 214, "rcpt 550": 86 });
    assert.ok(met <= 25, `${met} recipients met it`);
  });

  for (const [what, ehlo] of [
    ["pipelined", undefined],
    ["in lock step", "250 mx.test\r\n"],
  ] as const)
    it(`RSETs, and says so to one of them, ${what}: is left before, after one has met it`, async () => {
      let met = 0;
      const { server, fixture } = await start((line, { lines }) => {
        if (line.startsWith("EHLO")) return ehlo;
        if (line !== "RSET" || count(lines, "RSET") < 11) return undefined;
        met++;
        return { close: "554 Too many nonmail commands\r\n" };
      });
      assert.deepEqual(await askAll(fixture, 350, mixed), { "rcpt 250": 250, "rcpt 550": 100 });
      assert.equal(met, 1);
      assert.ok(server.connections.length <= 350 / 11 + 3, `${server.connections.length} sessions`);
    });

  it("is given a little more now and then, and all that the policy allows once the limit is gone", async () => {
    let most = 3;
    let met = 0;
    const { server, fixture } = await start((line, dialogue) =>
      limited(
        "transactions",
        most,
        "421 4.7.0 Too many messages in this session\r\n",
        () => met++,
      )(line, dialogue),
    );
    await askAll(fixture, 30, mixed);
    const first = met;
    for (let minute = 0; minute < 60; minute++) {
      await askAll(fixture, 9, mixed);
      await fixture.clock.advanceAsync(60_000);
    }
    assert.ok(met - first >= 2 && met - first <= 8, `tried ${met - first} times in an hour`);
    most = 1_000;
    await fixture.clock.advanceAsync(LIMITS.learned.holdMaxMs / 2);
    for (let round = 0; round < 20; round++) {
      await askAll(fixture, 60, mixed);
      await fixture.clock.advanceAsync(LIMITS.learned.stepMs);
    }
    const before = server.connections.length;
    await askAll(fixture, 100, mixed);
    assert.ok(server.connections.length - before <= 2, "one session does it all again");
  });
});

describe("what a site has taught", () => {
  it("outlives its sessions, and serves its other hosts", async () => {
    let met = 0;
    const words = "421 4.7.0 Too many errors\r\n";
    const { fixture } = await start(limited("rejections", 4, words, () => met++));
    await askAll(fixture, 40, missing);
    const first = met;
    await askAll(fixture, 40, missing, { host: "other.test" });
    assert.equal(met, first, "the other host");
    await fixture.clock.advanceAsync(2 * LIMITS.smtp.hostMemoryMs);
    assert.equal(fixture.pool.stats().hosts, 0);
    await askAll(fixture, 40, missing);
    assert.ok(met <= first + 1, "one tries whether there is more by now");
  });
});

describe("a server that answers late after so many rejections", () => {
  it("is left before, after two have met it", async () => {
    let late = 0;
    const script: Script = (line, { lines }) => {
      if (line.startsWith("EHLO")) return "250 mx.test\r\n";
      if (!line.startsWith("RCPT") || count(lines, "RCPT TO:<missing") < 5) return undefined;
      late++;
      fixture.clock.advance(LIMITS.learned.slowReplyMs);
      return undefined;
    };
    const { server, fixture } = await start(script);
    // In two parts: an unused session is closed between them.
    const policy = { rejectionsPerSession: 20, transactionsPerSession: 20 };
    assert.deepEqual(await askAll(fixture, 300, missing, policy), { "rcpt 550": 300 });
    assert.ok(late <= 20, `${late} late answers`);
    assert.ok(server.connections.length >= 50, `${server.connections.length} sessions`);
  });

  it("is not one that is always as late", async () => {
    const script: Script = (line) => {
      if (line.startsWith("RCPT")) fixture.clock.advance(LIMITS.learned.slowReplyMs);
      return undefined;
    };
    const { server, fixture } = await start(script);
    await askAll(fixture, 100, missing);
    assert.equal(server.connections.length, 1);
  });
});

describe("a server that breaks on writes that hold too much", () => {
  it("is not given them again after the second", async () => {
    let broke = 0;
    const { server, fixture } = await start((line, { burst }) => {
      if (!line.startsWith("MAIL") || burst < 9) return undefined;
      broke++;
      return { close: "" };
    });
    assert.deepEqual(await askAll(fixture, 300, mixed), { "rcpt 250": 214, "rcpt 550": 86 });
    assert.ok(broke >= 1 && broke <= 3, `${broke} writes broke`);
    assert.ok(server.writes <= 170, `${server.writes} writes`);
    await fixture.clock.advanceAsync(LIMITS.learned.holdMs);
    assert.deepEqual(await askAll(fixture, 300, mixed), { "rcpt 250": 214, "rcpt 550": 86 });
    assert.ok(broke <= 4, `${broke} writes broke: one was tried`);
  });
});

interface Clients {
  server: ScriptedServer;
  clock: FakeClock;
  caps: SiteCaps;
  slots: EgressSlots;
  pools: PoolFixture[];
  refused(): number;
}

/** Time that a server takes for one recipient: simultaneous questions keep it busy for a while. */
const ANSWER_MS = 200;

/** A server with room for two connections at once, and some threads' pools that share the slots of a process. */
async function startCrowd(threads: number, refusal: string): Promise<Clients> {
  const clock = createFakeClock();
  let refused = 0;
  const open = new Set<number>();
  const server = await createScriptedServer((line, { connection }) => {
    if (line === "QUIT") open.delete(connection);
    if (line.startsWith("RCPT")) clock.advance(ANSWER_MS);
    if (line !== "") return undefined;
    if (open.size >= 2) {
      refused++;
      return { close: refusal };
    }
    open.add(connection);
    return undefined;
  });
  const caps = createSiteCaps({ clock, onReduced: () => {} });
  const slots = createEgressSlots({
    leases: {
      report: async (statements) => statements.map(({ want }) => ({ granted: want, excess: 0 })),
      listen: () => {},
    },
    caps,
    clock,
    log: createLog("silent"),
  });
  slots.start();
  const onCrowded = (cap: string) => slots.onCrowded(cap);
  const pools = Array.from({ length: threads }, () =>
    createPoolFixture(server.port, { clock, slots, onCrowded }),
  );
  ends.push(async () => {
    await Promise.all(pools.map(({ pool }) => pool.drain()));
    for (const { pool } of pools) pool.close();
    assert.equal(slots.stats().held, 0);
    await slots.close();
    await server.close();
  });
  return { server, clock, caps, slots, pools, refused: () => refused };
}

/**
 * Moves time until `work` is through, at most for ten minutes. Not faster than sockets can follow: no deadline passes
 * because a packet took its time.
 */
async function inTime<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let over = false;
  const done = work.finally(() => {
    over = true;
  });
  for (let i = 0; i < 6_000 && !over; i++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    await clock.advanceAsync(100);
  }
  assert.ok(over, "it takes too long");
  return done;
}

describe("a server with room for two connections", () => {
  for (const [said, refusal] of [
    ["that says so", "421 4.7.0 mx.test Error: too many connections from 127.0.0.1\r\n"],
    ["that does not say so", ""],
  ] as const)
    it(`${said}: gets two, with few refusals`, async () => {
      const { server, clock, caps, pools, refused } = await startCrowd(1, refusal);
      const [pool] = pools;
      assert.ok(pool);
      const policy = { maxConnections: 10, transactionsPerSession: 30 };
      const through = askAll(pool, 300, () => "user", policy);
      assert.deepEqual(await inTime(clock, through), { "rcpt 250": 300 });
      assert.ok(refused() <= 20, `${refused()} refusals of ${server.connections.length} connections`);
      const cap = caps.limit("site", 10, 0);
      assert.ok(cap === 2 || cap === 3, `${cap}: a third is tried now and then`);
    });

  it("that says so only at MAIL: leaves the work to those that it takes", async () => {
    const { fixture } = await start((line, { connection }) =>
      line.startsWith("MAIL") && connection > 1
        ? { close: "421 4.7.0 Too many concurrent connections\r\n" }
        : undefined,
    );
    await fixture.rcpt("first@x.test", { maxConnections: 3 });
    assert.deepEqual(await askAll(fixture, 30, () => "user", { maxConnections: 3 }), { "rcpt 250": 30 });
  });

  it("is not one that repeats an address which says so", async () => {
    let crowded = 0;
    const server = await createScriptedServer((line) => {
      const path = /^RCPT TO:(<.*>)/.exec(line)?.[1];
      if (path === undefined) return undefined;
      return path.includes("later")
        ? `450 4.7.1 ${path}: put off\r\n`
        : `550 5.1.1 ${path}: User unknown\r\n`;
    });
    const fixture = createPoolFixture(server.port, { onCrowded: () => crowded++ });
    ends.push(async () => {
      await fixture.end();
      await server.close();
    });
    for (const local of ['"too many connections"', '"too many connections later"', '"concurrent sessions"'])
      assert.match(summary(await fixture.rcpt(`${local}@x.test`)), /^rcpt (550|450)$/);
    assert.deepEqual([crowded, server.connections.length], [0, 1]);
  });

  it("shares connections among threads: a thread without one waits, and its rows get no false verdict", async () => {
    const { clock, pools, refused } = await startCrowd(
      4,
      "421 4.7.0 mx.test Error: too many connections from 127.0.0.1\r\n",
    );
    const policy = { maxConnections: 10, transactionsPerSession: 5 };
    const all = Promise.all(pools.map((pool) => askAll(pool, 50, () => "user", policy)));
    for (const ended of await inTime(clock, all)) assert.deepEqual(ended, { "rcpt 250": 50 });
    assert.ok(refused() <= 60, `${refused()} refusals`);
  });

  const FULL = { close: "421 4.7.0 mx.test Error: too many connections from 127.0.0.1\r\n" };

  it("taken by others: a refused session waits for them to close", async () => {
    const goneAt = LIMITS.learned.crowdedPatienceMs / 2;
    const { fixture } = await start((line) =>
      line === "" && fixture.clock.monotonic() < goneAt ? FULL : undefined,
    );
    const waiting = askAll(fixture, 5, () => "user");
    assert.deepEqual(await inTime(fixture.clock, waiting), { "rcpt 250": 5 });
  });

  it("that others keep: a job that has waited long enough gets the server's reply", async () => {
    let full = true;
    let refused = 0;
    const { fixture } = await start((line) => {
      if (line !== "" || !full) return undefined;
      refused++;
      return FULL;
    });
    const waiting = askAll(fixture, 5, () => "user");
    assert.deepEqual(await inTime(fixture.clock, waiting), { "greeting 421": 5 });
    assert.ok(fixture.clock.monotonic() >= LIMITS.learned.crowdedPatienceMs);
    assert.ok(refused >= 3 && refused <= 8, `${refused} refusals`);
    assert.deepEqual(await askAll(fixture, 5, () => "user"), { "greeting 421": 5 }, "later ones at once");
    full = false;
    assert.deepEqual(await askAll(fixture, 5, () => "user"), { "rcpt 250": 5 });
  });
});
