import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import type { SmtpConfig } from "../../../src/config/config.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { acceptsConnection, dialTargetKey } from "../../../src/smtp/wire/dial.ts";
import { createEgressRoutes } from "../../../src/smtp/wire/egress-routes.ts";
import { createPoolFixture } from "./fixture.ts";

/** A server on its own thread. It counts accepted connections in shared memory, which a blocked main thread can read. */
const SERVER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const server = require("node:net").createServer(() => {
    Atomics.add(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;
const taken = new Int32Array(new SharedArrayBuffer(4));
let server: Worker;
let port: number;
before(async () => {
  server = new Worker(SERVER, { eval: true, workerData: taken });
  [port] = await once(server, "message");
});
after(() => server.terminate());

/** Lets callbacks run that wait for no socket and no timer. */
async function ticks(): Promise<void> {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => process.nextTick(resolve));
}

/** This thread stands still until the connection after `before` others is there. */
function stallUntilTaken(before: number): void {
  Atomics.wait(taken, 0, before, 60_000);
  assert.equal(Atomics.load(taken, 0), before + 1);
}

const immediate = () => new Promise((resolve) => setImmediate(resolve));

describe("a thread that stands still while a server takes its connection", () => {
  it("does not take its own silence for the server's", async () => {
    const fixture = createPoolFixture(port);
    const before = Atomics.load(taken, 0);
    // Sweeps come from timers: with the next turn's, sockets have not been looked at since the dial.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const pending = fixture.rcpt("a@x.test");
    await ticks();
    stallUntilTaken(before);
    fixture.clock.advance(LIMITS.network.silentMs + LIMITS.smtp.sweepMs);
    await immediate();
    assert.deepEqual(fixture.silences, []);
    fixture.pool.close();
    await pending;
  });

  it("sees that a sentinel has taken it, though its time is over", async () => {
    const heloName = "probe.test";
    const paths = createEgressRoutes({ heloName, sourceAddresses: [], proxies: [] });
    const config: SmtpConfig = {
      port,
      heloName,
      mailFrom: "",
      sourceAddresses: [],
      proxies: [],
      egressId: "test",
      probePrivateAddresses: true,
    };
    const [path] = paths.all;
    const before = Atomics.load(taken, 0);
    // From here timers come before sockets.
    await immediate();
    const withinMs = 20;
    const dial = acceptsConnection(dialTargetKey(path?.name ?? "", "127.0.0.1"), config, paths, withinMs);
    await ticks();
    stallUntilTaken(before);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * withinMs);
    assert.equal(await dial, true);
  });
});
