import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createPoolFixture, type PoolFixture, summary } from "../fixture.ts";
import { createScriptedServer, type Dialogue, type ScriptedServer } from "../scripted-server.ts";

const AS_SHIPPED = { transactionsPerSession: null, rejectionsPerSession: null };
const POSTFIX_OFFERS = "250-mx.test\r\n250-PIPELINING\r\n250-SIZE 10240000\r\n250-VRFY\r\n250 ETRN\r\n";
const EXIM_OFFERS =
  "250-mx.test Hello\r\n250-SIZE 52428800\r\n250-8BITMIME\r\n250-PIPELINING\r\n250 PRDR\r\n";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const had = ({ lines }: Dialogue, start: string) => lines.filter((line) => line.startsWith(start)).length;

interface World {
  server: ScriptedServer;
  fixture: PoolFixture;
  /** How often the server slowed us down, closed the connection, or refused a RSET. */
  seen: { slowed: number; closed: number; refused: number };
}

/** @param script returns the server's reply to a line; undefined: the default reply */
async function start(
  script: (line: string, dialogue: Dialogue, world: World) => string | { close: string } | undefined,
) {
  const world = { seen: { slowed: 0, closed: 0, refused: 0 } } as World;
  world.server = await createScriptedServer((line, dialogue) => script(line, dialogue, world));
  world.fixture = createPoolFixture(world.server.port);
  ends.push(async () => {
    await world.fixture.end();
    await world.server.close();
  });
  return world;
}

/** Postfix: each reply waits 1 s from the 10th error on, and the 20th ends the session. RSET is an error too behind the 100th. */
function likePostfix(greeting: string, offers: string | undefined) {
  return (line: string, dialogue: Dialogue, { fixture, seen }: World) => {
    if (line === "") return greeting;
    if (line.startsWith("EHLO")) return offers;
    const isMissing = line.startsWith("RCPT TO:<missing");
    const junk = Math.max(0, had(dialogue, "RSET") - 100);
    const errors = had(dialogue, "RCPT TO:<missing") + junk + (isMissing ? 1 : 0);
    if (line === "QUIT" || errors < 10) return undefined;
    if (errors >= 20) {
      seen.closed++;
      return { close: "421 4.7.0 mx.test Error: too many errors\r\n" };
    }
    seen.slowed++;
    fixture.clock.advance(LIMITS.learned.slowReplyMs);
    return undefined;
  };
}

async function askAll(
  { fixture }: World,
  count: number,
  missingEvery: number,
): Promise<Record<string, number>> {
  const jobs = Array.from({ length: count }, (_, i) =>
    fixture.rcpt(`${i % missingEvery === 0 ? "missing" : "user"}${i}@x.test`, AS_SHIPPED),
  );
  const counts: Record<string, number> = {};
  for (const end of (await Promise.all(jobs)).map(summary)) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}

describe("a session as shipped", () => {
  it("goes on with a server that counts nothing", async () => {
    const world = await start(() => undefined);
    assert.deepEqual(await askAll(world, 2_000, 10), { "rcpt 250": 1_800, "rcpt 550": 200 });
    assert.equal(world.server.connections.length, 1);
  });

  for (const [name, greeting, offers] of [
    ["by its greeting", "220 mx.test ESMTP Postfix\r\n", undefined],
    ["by what it offers", "220 mx ESMTP\r\n", POSTFIX_OFFERS],
  ] as const)
    for (const missingEvery of [1, 2, 10, 1_000])
      it(`is never slowed down by Postfix, known ${name}, where 1 in ${missingEvery} is missing`, async () => {
        const world = await start(likePostfix(greeting, offers));
        const counts = await askAll(world, 400, missingEvery);
        assert.equal(counts["rcpt 550"], Math.ceil(400 / missingEvery));
        assert.equal((counts["rcpt 250"] ?? 0) + (counts["rcpt 550"] ?? 0), 400);
        assert.deepEqual(world.seen, { slowed: 0, closed: 0, refused: 0 });
      });

  for (const missingEvery of [1, 2, 10])
    it(`that Postfix, masked, slows down is left at the first late reply: 1 in ${missingEvery} missing`, async () => {
      const world = await start(likePostfix("220 ****************\r\n", undefined));
      const counts = await askAll(world, 400, missingEvery);
      assert.equal(counts["rcpt 550"], Math.ceil(400 / missingEvery));
      assert.equal((counts["rcpt 250"] ?? 0) + (counts["rcpt 550"] ?? 0), 400);
      // One session, its write; what follows in that write is not waited for.
      assert.ok(world.seen.slowed <= 30, `${world.seen.slowed} late replies`);
      const after = world.seen.slowed;
      await askAll(world, 400, missingEvery);
      assert.equal(world.seen.slowed, after, "it is remembered");
    });

  it("that closes after so many errors, and says so, loses no job and is left at half as many", async () => {
    const world = await start((line, dialogue, { seen }) => {
      if (!line.startsWith("RCPT") || had(dialogue, "RCPT TO:<missing") < 12) return undefined;
      seen.closed++;
      return { close: "421 4.7.0 mx.test Error: too many errors\r\n" };
    });
    assert.deepEqual(await askAll(world, 300, 1), { "rcpt 550": 300 });
    assert.ok(world.seen.closed <= 2, `${world.seen.closed} sessions ended`);
    const longest = Math.max(
      ...world.server.connections
        .slice(5)
        .map((lines) => lines.filter((line) => line.startsWith("RCPT")).length),
    );
    assert.ok(longest <= 6, `${longest} in a session`);
  });

  for (const [name, greeting, offers] of [
    ["by its greeting", "220 mx.test ESMTP Exim 4.96\r\n", undefined],
    ["by what it offers", "220 mx ESMTP\r\n", EXIM_OFFERS],
  ] as const)
    it(`is never refused a RSET by Exim, known ${name}`, async () => {
      const world = await start((line, dialogue, { seen }) => {
        if (line === "") return greeting;
        if (line.startsWith("EHLO")) return offers;
        if (line !== "RSET" || had(dialogue, "RSET") < 11) return undefined;
        seen.refused++;
        return { close: "554 Too many nonmail commands\r\n" };
      });
      assert.deepEqual(await askAll(world, 200, 10), { "rcpt 250": 180, "rcpt 550": 20 });
      assert.equal(world.seen.refused, 0);
      assert.equal(world.server.connections.length, 20);
    });
});
