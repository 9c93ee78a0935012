import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createSharedBoard } from "../../../src/egress/shared-board.ts";
import { type Broker, createBroker } from "../../../src/engine/threads/broker.ts";
import { CheckBatches } from "../../../src/engine/threads/check-batches.ts";
import { ThreadLink } from "../../../src/engine/threads/thread-link.ts";
import { createCatchAllFacts } from "../../../src/verification/catch-all.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createLocalBehaviours } from "../../support/local-behaviours.ts";
import { createLocalBreakers } from "../../support/local-breakers.ts";
import { createLocalSlots } from "../../support/local-slots.ts";
import { until } from "../../support/until.ts";
import { createPoolFixture, summary } from "../smtp/fixture.ts";
import { createScriptedServer, type ScriptedServer } from "../smtp/scripted-server.ts";

/** Pools of two threads over their lines to one broker, on real sockets. Time stands still: nothing is mended by a timer. */
const clock = createFakeClock();
const local = createLocalSlots(clock);
const ports: MessagePort[] = [];
let server: ScriptedServer;

before(async () => {
  server = await createScriptedServer();
});
after(async () => {
  for (const port of ports) port.close();
  await server.close();
});

/** A server that greets only as many connections at once, and tells others that they are too many. */
function crowdedServer(room: number): Promise<ScriptedServer> {
  const greeted = new Set<number>();
  return createScriptedServer((line, { connection }) => {
    if (line === "QUIT") greeted.delete(connection);
    if (line !== "") return undefined;
    if (greeted.size >= room) return { close: "421 4.7.0 mx.test Error: too many connections\r\n" };
    greeted.add(connection);
    return undefined;
  });
}

function broker(): Broker {
  const nothing = () => {};
  return createBroker({
    checks: new CheckBatches(createSharedBoard(1, 1), () => 0),
    ...{ clock, slots: local, onCrowded: nothing, onCounts: nothing },
    facts: createCatchAllFacts(clock, { get: async () => null, put: nothing }),
    health: { onSilent: nothing, onFailed: nothing, addCandidate: nothing, onReached: nothing },
    breakers: createLocalBreakers(clock).authority,
    behaviours: createLocalBehaviours(clock).authority,
  });
}

function thread(to: Broker, { port } = server) {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  to.attach(port2);
  return createPoolFixture(port, { clock, slots: local, threadSlots: new ThreadLink(port1).slots });
}

describe("two threads that come to a site of one connection in the same turn", () => {
  it("are both served: the one that has it gives it back when it rests", async () => {
    const main = broker();
    const [a, b] = [thread(main), thread(main)];
    const said: string[] = [];
    for (const [name, { rcpt }] of Object.entries({ a, b }))
      void rcpt(`${name}@x.test`).then((outcome) => said.push(`${name} ${summary(outcome)}`));
    await until("both are served", () => said.length === 2);
    assert.deepEqual(said, ["a rcpt 250", "b rcpt 250"]);
    assert.equal(server.connections.length, 2);
    await Promise.all([a.pool.drain(), b.pool.drain()]);
    await until("all is given back", () => local.stats().held === 0);
    for (const { pool } of [a, b]) pool.close();
  });
});

describe("a server that takes fewer connections than one thread opens", () => {
  for (const room of [2, 3])
    it(`takes ${room}: the requests of both threads are served`, async () => {
      const crowded = await crowdedServer(room);
      const main = broker();
      const both = [thread(main, crowded), thread(main, crowded)];
      const asked = both.flatMap(({ rcpt }, of) =>
        Array.from({ length: 40 }, (_, i) =>
          rcpt(`user${of}-${i}@x.test`, { maxConnections: 10, isInteractive: true }),
        ),
      );
      // At the start each thread has its share of the slots, and waits for more.
      await until("the server has been asked", () => crowded.connections.length > room);
      clock.advance(LIMITS.slots.fairStartMs);
      assert.deepEqual(new Set((await Promise.all(asked)).map(summary)), new Set(["rcpt 250"]));
      await Promise.all(both.map(({ pool }) => pool.drain()));
      await until("all is given back", () => local.stats().held === 0);
      for (const { pool } of both) pool.close();
      await crowded.close();
    });

  it("takes none, since others have them all: the requests of both threads have its reply at once", async () => {
    const crowded = await crowdedServer(0);
    const main = broker();
    const both = [thread(main, crowded), thread(main, crowded)];
    const asked = both.map(({ rcpt }) => rcpt("user@x.test", { maxConnections: 10, isInteractive: true }));
    assert.deepEqual((await Promise.all(asked)).map(summary), ["greeting 421", "greeting 421"]);
    await until("all is given back", () => local.stats().held === 0);
    for (const { pool } of both) pool.close();
    await crowded.close();
  });
});
