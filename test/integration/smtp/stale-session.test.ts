import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createLocalSlots, type LocalSlots } from "../../support/local-slots.ts";
import { until } from "../../support/until.ts";
import { createPoolFixture, type PoolFixture, summary } from "./fixture.ts";
import { type Answer, createScriptedServer, type Dialogue, type ScriptedServer } from "./scripted-server.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const POLICY = { maxConnections: 5, transactionsPerSession: 10_000, rejectionsPerSession: 10_000 };

interface Site {
  server: ScriptedServer;
  fixture: PoolFixture;
  /** From now on grants this many connections, whatever the policy says. */
  holdTo(connections: number): void;
}

/** A server that ends its second session at a victim's RCPT, and a pool whose slots are fewer than the policy allows. */
async function startSite(
  script: (line: string, dialogue: Dialogue) => Answer | undefined = () => undefined,
): Promise<Site> {
  const server = await createScriptedServer((line, dialogue) => {
    if (line.startsWith("EHLO")) return "250 mx.test\r\n";
    const toVictim = line.startsWith("RCPT TO:<victim");
    if (toVictim && dialogue.connection === 2) return { close: "421 4.3.2 mx.test Closing\r\n" };
    return script(line, dialogue);
  });
  const clock = createFakeClock();
  const local = createLocalSlots(clock);
  let cap = 2;
  const slots: LocalSlots = {
    ...local,
    acquire: (site, max, waitMs) => local.acquire(site, Math.min(cap, max), waitMs),
  };
  const fixture = createPoolFixture(server.port, { clock, slots });
  ends.push(async () => {
    await fixture.end();
    await server.close();
  });
  const holdTo = (connections: number) => {
    cap = connections;
  };
  return { server, fixture, holdTo };
}

/**
 * Two sessions that have been used. The server will end one of them: the recipient that it is asking about then needs a
 * new one.
 */
async function warmUp({ server, fixture }: Site): Promise<void> {
  const ask = (names: string[]) => Promise.all(names.map((name) => fixture.rcpt(`${name}@x.test`, POLICY)));
  await ask(["a", "b"]);
  await until("both are idle", () => fixture.pool.stats().idle === 2);
  await ask(["c", "d"]);
  assert.deepEqual(
    server.connections.map((lines) => lines.some((line) => line.startsWith("RCPT"))),
    [true, true],
  );
}

/** The clock stands still in all of these: only answers are awaited. */
describe("a job that needs a new session, with fewer slots than the policy allows", () => {
  it("is not overtaken for ever by jobs that the present sessions serve", async () => {
    const site = await startSite();
    await warmUp(site);
    const { fixture, server } = site;
    let waiting = 0;
    const victims = [1, 2, 3, 4].map(async (number) => {
      waiting++;
      const outcome = await fixture.rcpt(`victim${number}@x.test`, POLICY);
      waiting--;
      return outcome;
    });
    site.holdTo(1);
    let served = 0;
    const others = [1, 2, 3].map(async () => {
      for (; waiting > 0 && served < 400; served++) await fixture.rcpt(`other${served}@x.test`, POLICY);
    });
    await Promise.all(others);
    assert.equal(waiting, 0, `still waiting after ${served} others`);
    assert.deepEqual(new Set((await Promise.all(victims)).map(summary)), new Set(["rcpt 250"]));
    assert.ok(server.connections.length <= 6, `${server.connections.length} sessions: one for each at most`);
  });

  it("gets the place of an idle one at once", async () => {
    const site = await startSite();
    await warmUp(site);
    site.holdTo(1);
    const victims = [1, 2].map((number) => site.fixture.rcpt(`victim${number}@x.test`, POLICY));
    assert.deepEqual((await Promise.all(victims)).map(summary), ["rcpt 250", "rcpt 250"]);
    assert.equal(site.server.connections.length, 3);
  });

  it("also where it is the server that wants no more", async () => {
    const site = await startSite((line, { connection }) =>
      line === "" && connection === 3 ? { close: "" } : undefined,
    );
    await warmUp(site);
    const victims = [1, 2].map((number) => site.fixture.rcpt(`victim${number}@x.test`, POLICY));
    assert.deepEqual((await Promise.all(victims)).map(summary), ["rcpt 250", "rcpt 250"]);
    assert.equal(site.server.connections.length, 4);
  });
});
