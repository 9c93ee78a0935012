import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";
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

function thread(to: Broker) {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  to.attach(port2);
  return createPoolFixture(server.port, { clock, slots: { ...local, ...new ThreadLink(port1).slots } });
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
