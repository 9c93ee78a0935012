import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createPoolFixture, type PoolFixture, type PoolOptions, summary } from "./fixture.ts";
import { type Answer, createScriptedServer, type Dialogue, type ScriptedServer } from "./scripted-server.ts";

const opened: { server: ScriptedServer; fixture: PoolFixture }[] = [];

async function start(
  script?: (line: string, dialogue: Dialogue) => Answer | undefined,
  options: PoolOptions = {},
): Promise<{ server: ScriptedServer; fixture: PoolFixture }> {
  const server = await createScriptedServer(script);
  const fixture = createPoolFixture(server.port, options);
  const pair = { server, fixture };
  opened.push(pair);
  return pair;
}

afterEach(async () => {
  for (const { server, fixture } of opened.splice(0)) {
    await fixture.end();
    await server.close();
  }
});

const isRcpt = (line: string) => line.startsWith("RCPT");
const count = (lines: readonly string[] | undefined, test: (line: string) => boolean) =>
  (lines ?? []).filter(test).length;

describe("a session", () => {
  it("serves many recipients, one per transaction", async () => {
    const { server, fixture } = await start();
    for (const name of ["a", "missing", "b"]) await fixture.rcpt(`${name}@x.test`);
    assert.deepEqual(server.connections, [
      [
        "EHLO probe.test",
        ...["a", "missing", "b"].flatMap((name) => ["MAIL FROM:<>", `RCPT TO:<${name}@x.test>`, "RSET"]),
      ],
    ]);
    assert.deepEqual(fixture.events, ["opened"]);
  });

  it("is closed with QUIT when idle for long, and its slot is given back", async () => {
    const { server, fixture } = await start();
    await fixture.rcpt("a@x.test");
    await fixture.clock.advanceAsync(LIMITS.smtp.idleSessionMs - LIMITS.smtp.sweepMs);
    assert.equal(fixture.slots.stats().held, 1);
    await fixture.clock.advanceAsync(2 * LIMITS.smtp.sweepMs);
    await server.until(() => server.open === 0);
    assert.equal(server.connections[0]?.at(-1), "QUIT");
    while (fixture.slots.stats().held > 0) await fixture.clock.advanceAsync(LIMITS.smtp.quitTimeoutMs);
    assert.equal(fixture.pool.stats().sessions, 0);
  });

  it("is left after its transactions, and after its rejections", async () => {
    const { server, fixture } = await start();
    for (let i = 0; i < 5; i++) await fixture.rcpt(`u${i}@x.test`, { transactionsPerSession: 2 });
    assert.deepEqual(
      server.connections.map((lines) => count(lines, isRcpt)),
      [2, 2, 1],
    );
    const { server: strict, fixture: other } = await start();
    const jobs = Array.from({ length: 9 }, (_, i) =>
      other.rcpt(`missing${i}@x.test`, { rejectionsPerSession: 3 }),
    );
    await Promise.all(jobs);
    assert.deepEqual(
      strict.connections.map((lines) => count(lines, isRcpt)),
      [3, 3, 3],
    );
  });

  describe("of which few refusals are left, so that its writes would be small", () => {
    const limits = { rejectionsPerSession: 8, transactionsPerSession: 1_000 };
    const refusals = (lines: readonly string[]) =>
      count(lines, (line) => line.startsWith("RCPT TO:<missing"));
    async function askMany({ server, fixture }: Awaited<ReturnType<typeof start>>, addresses: number) {
      const name = (i: number) => `${i % 10 === 9 ? "missing" : "user"}${i}@x.test`;
      await Promise.all(Array.from({ length: addresses }, (_, i) => fixture.rcpt(name(i), limits)));
      return server.connections.map(refusals);
    }

    it("is left for another one while enough waits for that", async () => {
      assert.deepEqual(await askMany(await start(), 250), [6, 6, 6, 7]);
    });

    it("is used up where the next is long in coming", async () => {
      const slow = await start((line) => {
        if (line === "") slow.fixture.clock.advance(1);
        return undefined;
      });
      assert.deepEqual(await askMany(slow, 250), [8, 8, 8, 1]);
    });

    it("is used up one at a time", async () => {
      const plain = await start((line) => (line.startsWith("EHLO") ? "250 mx.test\r\n" : undefined));
      assert.deepEqual(await askMany(plain, 250), [8, 8, 8, 1]);
    });

    it("is used up where the server has named a limit", async () => {
      const strict = await start((line, { lines }) =>
        isRcpt(line) && refusals(lines) >= 5 ? { close: "421 4.7.0 Error: too many errors\r\n" } : undefined,
      );
      const [first, ...others] = await askMany(strict, 250);
      assert.ok(first !== undefined && first >= 5);
      assert.deepEqual(new Set(others.slice(0, -1)), new Set([5]));
    });
  });

  it("is left after 421, which is the answer to the recipient in turn", async () => {
    const { server, fixture } = await start((line) =>
      line.includes("<busy") ? { close: "421 4.3.2 Closing\r\n" } : undefined,
    );
    const ends = await Promise.all(["a", "busy", "b"].map((name) => fixture.rcpt(`${name}@x.test`)));
    assert.deepEqual(ends.map(summary), ["rcpt 250", "rcpt 421", "rcpt 250"]);
    assert.equal(server.connections.length, 3, "asked again on a new one, since the first had served others");
  });

  it("that counts recipients is left, and the one over the count asked again on a new one", async () => {
    const { server, fixture } = await start((line, { lines }) =>
      isRcpt(line) && count(lines, isRcpt) >= 2 ? "452 4.5.3 Too many recipients\r\n" : undefined,
    );
    const ends = [];
    for (const name of ["a", "b", "c", "missing"]) ends.push(await fixture.rcpt(`${name}@x.test`));
    assert.deepEqual(ends.map(summary), ["rcpt 250", "rcpt 250", "rcpt 250", "rcpt 550"]);
    assert.equal(server.connections.length, 2);
  });

  it("found dead on reuse costs a retry on a new one, once", async () => {
    const { server, fixture } = await start((line, { connection, lines }) =>
      isRcpt(line) && connection === 1 && count(lines, isRcpt) === 1 ? { close: "" } : undefined,
    );
    assert.equal(summary(await fixture.rcpt("a@x.test")), "rcpt 250");
    assert.equal(summary(await fixture.rcpt("missing@x.test")), "rcpt 550");
    assert.equal(server.connections.length, 2);
    const { server: rude, fixture: other } = await start((line) =>
      line.includes("<drop") ? { close: "" } : undefined,
    );
    await other.rcpt("a@x.test");
    assert.equal(summary(await other.rcpt("drop@x.test")), "rcpt closed");
    assert.equal(rude.connections.length, 2, "once on the old session, once on a new one");
  });

  it("fresh and dead is a failure at its stage, at once", async () => {
    const { server, fixture } = await start((line) => (isRcpt(line) ? { close: "" } : undefined));
    assert.equal(summary(await fixture.rcpt("a@x.test")), "rcpt closed");
    assert.equal(server.connections.length, 1);
  });

  it("closed by the server while idle is no failure of anybody", async () => {
    const { server, fixture } = await start();
    await fixture.rcpt("a@x.test");
    server.say("421 4.4.2 Idle too long\r\n");
    server.hangUp();
    await server.until(() => server.open === 0);
    assert.equal(summary(await fixture.rcpt("b@x.test")), "rcpt 250");
    assert.equal(server.connections.length, 2);
  });

  it("that talks unasked is not used any more", async () => {
    const { server, fixture } = await start();
    await fixture.rcpt("a@x.test");
    server.say("250 2.1.5 Ok\r\n");
    await server.until(() => server.open === 0);
    assert.equal(summary(await fixture.rcpt("missing@x.test")), "rcpt 550");
    assert.equal(server.connections.length, 2);
  });

  it("is opened beside others while they are busy, up to the site's count", async () => {
    let held = 0;
    const { server, fixture } = await start((line) => {
      if (line.includes("<hold")) held++;
      return line.includes("<hold") ? null : undefined;
    });
    const jobs = Array.from({ length: 6 }, (_, i) => fixture.rcpt(`hold${i}@x.test`, { maxConnections: 3 }));
    await server.until(() => held === 3);
    await fixture.clock.advanceAsync(LIMITS.smtp.growRetryMs);
    assert.deepEqual([server.connections.length, fixture.pool.stats().waiting], [3, 3]);
    fixture.pool.close();
    assert.deepEqual(
      new Set((await Promise.all(jobs)).map((o) => o.kind === "failure" && o.cause)),
      new Set(["cancelled"]),
    );
  });

  it("refused beside working ones leaves its work to them", async () => {
    const { server, fixture } = await start((line, { connection }) =>
      line === "" && connection > 1 ? { close: "421 4.7.0 Too many connections\r\n" } : undefined,
    );
    await fixture.rcpt("first@x.test", { maxConnections: 5 });
    const jobs = Array.from({ length: 30 }, (_, i) => fixture.rcpt(`u${i}@x.test`, { maxConnections: 5 }));
    const ends = await Promise.all(jobs);
    assert.deepEqual(new Set(ends.map(summary)), new Set(["rcpt 250"]));
    assert.equal(count(server.connections[0], isRcpt), 31);
  });

  it("dials from the source address of its site", async () => {
    const from: string[] = [];
    const { fixture } = await start(
      (_, dialogue) => {
        from.push(dialogue.from);
        return undefined;
      },
      { sourceAddresses: ["127.0.0.7"] },
    );
    await fixture.rcpt("a@x.test");
    assert.deepEqual(new Set(from), new Set(["127.0.0.7"]));
  });
});
