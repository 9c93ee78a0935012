import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MessagePort } from "node:worker_threads";
import { createSharedBoard } from "../../../../src/egress/shared-board.ts";
import { CheckBatches } from "../../../../src/engine/threads/check-batches.ts";
import { startCheckThreads } from "../../../../src/engine/threads/check-threads.ts";
import { createCheckPool } from "../../../../src/engine/threads/pool.ts";
import { compileLists } from "../../../../src/verification/lists/lists.ts";
import { silentLog } from "../../../support/store.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "rcpt-threads-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A pool of two threads whose entry is `source`. */
async function poolOf(source: string) {
  const entry = join(folder, `${source.length}.mjs`);
  await writeFile(entry, source);
  const board = createSharedBoard(2, 1);
  const smtp = {
    port: 25,
    heloName: "probe.test",
    mailFrom: "",
    sourceAddresses: [],
    proxies: [],
    egressId: "test",
    probePrivateAddresses: false,
  };
  const setup = {
    smtp,
    shaping: { default: {}, providers: {}, sites: {} },
    dnsServers: [],
    signals: { spf: false, dmarc: false, blocklistZones: [] },
    lists: compileLists(),
    board: board.shared,
    logLevel: "silent" as const,
    isSmtpTraced: false,
  };
  const threads = startCheckThreads(setup, 2, silentLog, entry);
  const batches = new CheckBatches(board, () => 0);
  const broker = {
    attach(port: MessagePort) {
      const send = (message: unknown) => port.postMessage([message]);
      const thread = batches.attach({ send, setBusy: (isBusy) => (isBusy ? port.ref() : port.unref()) });
      port.on("close", () => thread.close());
    },
    drain: async () => {},
  };
  return { threads, pool: createCheckPool({ threads, batches, broker }) };
}

const BROKEN = `throw new Error("cannot be loaded");`;
/** Answers hellos, and ends its thread when it gets a check. */
const MORTAL = `
  import { MessageChannel, parentPort } from "node:worker_threads";
  const { port1, port2 } = new MessageChannel();
  port1.on("message", () => process.exit(1));
  parentPort.postMessage({ type: "rcpt.attach", port: port2 }, [port2]);
  export default () => null;
`;

describe("threads that fail as they load", () => {
  it("are reported to a waiter", async () => {
    const { pool } = await poolOf(BROKEN);
    await assert.rejects(pool.ready(), /cannot be loaded/);
    await pool.close();
  });

  it("are reported to a later caller", async () => {
    const { threads, pool } = await poolOf(BROKEN);
    await assert.rejects(threads.failed, /cannot be loaded/);
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(pool.ready(), /cannot be loaded/);
    await pool.close();
  });
});

describe("threads that were there", () => {
  it("are replaced when they fail: the pool is ready again", async () => {
    const { threads, pool } = await poolOf(MORTAL);
    // Idle threads do not keep the process alive, so this timer does.
    const alive = setInterval(() => {}, 1_000);
    await pool.ready();
    threads.piscina.emit("error", new Error("a thread failed between two tasks"));
    const replaced = once(threads.piscina, "workerDestroy");
    await assert.rejects(pool.check("a@x.test", "probed").evidence);
    await replaced;
    await pool.ready();
    clearInterval(alive);
    await pool.close();
  });
});
