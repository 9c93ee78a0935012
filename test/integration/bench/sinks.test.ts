import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { before, describe, it } from "node:test";
import { openNativeSinks } from "../../../bench/sinks/native-sink.ts";
import { accountOf, type SinkDelays, type Sinks } from "../../../bench/sinks/sink-account.ts";
import { findWrk, type Wrk } from "../../../scripts/embedded/wrk.ts";
import { createRawClient, type RawClient } from "../mail-world/raw-client.ts";

const GUARD = { pid: 0, env: { RCPT_RUN: "test" }, hold() {}, removeAtEnd() {}, async end() {} };
const CACHE = join(import.meta.dirname, "../../../.rcpt/cache");
const ONE = "127.0.9.1";
const OTHER = "127.0.9.2";
const NO_DELAYS: SinkDelays = { latencyMs: 0, recipientMs: 0 };

type OpenSinks = (addresses: readonly string[], delays: SinkDelays) => Promise<Sinks>;
type Dial = (address?: string) => Promise<RawClient>;

const group = (address: string) => ["MAIL FROM:<>", `RCPT TO:<${address}>`, "RSET"];
const codes = (replies: readonly string[]) => replies.map((reply) => reply.slice(0, 3)).join(" ");

async function withSinks(
  open: OpenSinks,
  delays: SinkDelays,
  story: (sinks: Sinks, dial: Dial) => Promise<void>,
) {
  const sinks = await open([ONE, OTHER], delays);
  const clients: RawClient[] = [];
  try {
    await story(sinks, async (address = ONE) => {
      const client = createRawClient(sinks.port, address);
      clients.push(client);
      assert.equal(await client.reply(), "220 sink.test ESMTP");
      return client;
    });
  } finally {
    for (const client of clients) client.close();
    await sinks.close();
  }
}

/** A peer that reads nothing at first; then it counts bytes until the connection is closed. */
async function deafClient(port: number, text: string) {
  const socket = connect(port, ONE);
  await once(socket, "connect");
  let received = 0;
  socket.pause();
  socket.on("data", (chunk: Buffer) => {
    received += chunk.length;
  });
  socket.write(text);
  return async () => {
    socket.resume();
    await once(socket, "close");
    return received;
  };
}

function dialogues(open: OpenSinks): void {
  it("tells what it can, answers by the first letter and says goodbye", () =>
    withSinks(open, NO_DELAYS, async (sinks, dial) => {
      const client = await dial();
      assert.deepEqual(await client.ask("ehlo a"), [
        "250-sink.test\n250-PIPELINING\n250 ENHANCEDSTATUSCODES",
      ]);
      assert.deepEqual(await client.ask(...group("user1@a.test"), ...group("nobody@a.test")), [
        ...["250 2.0.0 Ok", "250 2.1.5 Ok", "250 2.0.0 Ok"],
        ...["250 2.0.0 Ok", "550 5.1.1 User unknown", "250 2.0.0 Ok"],
      ]);
      assert.equal(codes(await client.ask(...group("nobody@any7.test"))), "250 250 250");
      client.send("QUIT", "NOOP", ...group("user2@a.test"));
      assert.equal(await client.reply(), "221 2.0.0 Bye");
      assert.equal(await client.reply(), "closed");
      assert.equal(accountOf(await sinks.accounts()).recipients, 3);
    }));

  it("answers ten groups of one write", () =>
    withSinks(open, NO_DELAYS, async (sinks, dial) => {
      const client = await dial();
      const groups = Array.from({ length: 10 }, (_, i) =>
        group(`${i % 3 === 0 ? "nobody" : "user"}${i}@a.test`),
      );
      const replies = await client.ask(...groups.flat());
      assert.equal(codes(replies), groups.map((_, i) => `250 ${i % 3 === 0 ? "550" : "250"} 250`).join(" "));
      assert.equal((await sinks.accounts())[0]?.recipients, 10);
    }));

  it("puts commands together that come in pieces", () =>
    withSinks(open, NO_DELAYS, async (_, dial) => {
      const client = await dial();
      client.write("NOOP\r\nRCPT TO:<us");
      assert.equal(await client.reply(), "250 2.0.0 Ok");
      for (const byte of "er1@a.test>\r\nRCPT TO:<nobody@a.test>\r\nEHLO a\r\n") {
        client.write(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(codes([await client.reply(), await client.reply(), await client.reply()]), "250 550 250");
    }));

  it("answers whatever comes, a line at a time", () =>
    withSinks(open, NO_DELAYS, async (_, dial) => {
      const client = await dial();
      const isSaid = (byte: number) => byte !== 10 && (byte | 0x20) !== 0x71;
      const bytes = Array.from({ length: 256 }, (_, byte) => byte).filter(isSaid);
      const lines = bytes.map((byte) => String.fromCharCode(byte, 0, 255, 13, byte));
      client.write(`\n\r\nrc\nRCPT TO:<\n${lines.join("\n")}\n`);
      const replies: string[] = [];
      while (replies.length < lines.length + 4) replies.push(await client.reply());
      assert.equal(codes(replies.slice(0, 4)), "250 250 550 550");
      assert.ok(replies.slice(4).every((reply) => reply.startsWith("250")));
      assert.equal(codes(await client.ask(...group("nobody@a.test"))), "250 550 250");
    }));

  it("answers a line without end by its beginning", () =>
    withSinks(open, NO_DELAYS, async (_, dial) => {
      const client = await dial();
      client.write(`RCPT TO:<u${"x".repeat(1_000_000)}\r\nRCPT TO:<n${"x".repeat(1_000_000)}\r\n`);
      assert.equal(codes([await client.reply(), await client.reply()]), "250 550");
    }));

  it("loses no reply to a client that does not read, and serves the others", () =>
    withSinks(open, NO_DELAYS, async (sinks, dial) => {
      const count = 1_000_000;
      const bytesOf = (text: string) => text.length + 2;
      const hearAll = await deafClient(sinks.port, `${"RSET\r\n".repeat(count)}QUIT\r\n`);
      const client = await dial();
      assert.equal(codes(await client.ask(...group("user1@a.test"))), "250 250 250");
      const wanted =
        bytesOf("220 sink.test ESMTP") + count * bytesOf("250 2.0.0 Ok") + bytesOf("221 2.0.0 Bye");
      assert.equal(await hearAll(), wanted);
    }));
}

function delayed(open: OpenSinks): void {
  it("keeps the order of each connection's pending answers, and drops those of closed connections", () =>
    withSinks(open, { latencyMs: 5, recipientMs: 0 }, async (_, dial) => {
      const clients = await Promise.all(Array.from({ length: 20 }, () => dial()));
      const writes = Array.from({ length: 50 }, (_, i) => (i % 3 === 0 ? "nobody" : "user"));
      for (const local of writes)
        for (const client of clients) {
          client.send(`RCPT TO:<${local}@a.test>`);
          await new Promise((resolve) => setImmediate(resolve));
        }
      const wanted = writes.map((local) => (local === "user" ? "250" : "550")).join(" ");
      const [gone, ...rest] = clients;
      gone?.close();
      for (const client of rest) {
        const replies: string[] = [];
        while (replies.length < writes.length) replies.push(await client.reply());
        assert.equal(codes(replies), wanted);
        assert.equal(codes(await client.ask("QUIT")), "221");
        assert.equal(await client.reply(), "closed");
      }
    }));

  it("takes its time for each recipient of a connection, one after the other, and for a round trip", () =>
    withSinks(open, NO_DELAYS, async (sinks, dial) => {
      const client = await dial();
      const other = await dial();
      await sinks.delay({ latencyMs: 10, recipientMs: 20 });
      const startedMs = performance.now();
      client.send(...group("user1@a.test"), ...group("nobody@a.test"));
      client.send(...group("user2@a.test"));
      other.send("NOOP");
      // A question about a missing recipient waits for its own round trip only, whatever others ask.
      assert.equal(await other.reply(), "250 2.0.0 Ok");
      const replies: string[] = [];
      while (replies.length < 9) replies.push(await client.reply());
      assert.equal(codes(replies), "250 250 250 250 550 250 250 250 250");
      // Timers have whole milliseconds.
      assert.ok(performance.now() - startedMs >= 10 + 3 * 20 - 1);
      await sinks.delay(NO_DELAYS);
      assert.equal(codes(await client.ask(...group("user3@a.test"))), "250 250 250");
    }));
}

function accounts(open: OpenSinks): void {
  it("counts by address, from when it is told on", () =>
    withSinks(open, NO_DELAYS, async (sinks, dial) => {
      const [first, second] = [await dial(), await dial()];
      const other = await dial(OTHER);
      await Promise.all([first, other].map((client) => client.ask(...group("user1@a.test"))));
      assert.deepEqual(await sinks.accounts(), [
        { connections: 2, open: 2, maxOpen: 2, recipients: 1 },
        { connections: 1, open: 1, maxOpen: 1, recipients: 1 },
      ]);
      await second.ask("QUIT");
      assert.equal(await second.reply(), "closed");
      await sinks.reset(0, 1);
      assert.deepEqual(await sinks.accounts(), [
        { connections: 0, open: 1, maxOpen: 1, recipients: 0 },
        { connections: 1, open: 1, maxOpen: 1, recipients: 1 },
      ]);
      await sinks.reset();
      assert.deepEqual(accountOf(await sinks.accounts()), {
        connections: 0,
        recipients: 0,
        maxOpenPerSite: 1,
      });
    }));

  it("counts a connection as closed after QUIT before its client can dial anew", () =>
    withSinks(open, NO_DELAYS, async (sinks, dial) => {
      for (let i = 0; i < 50; i++) {
        const client = await dial();
        await client.ask("QUIT");
        assert.equal(await client.reply(), "closed");
      }
      assert.deepEqual((await sinks.accounts())[0], {
        ...{ connections: 50, open: 0, maxOpen: 1, recipients: 0 },
      });
    }));
}

/** A process that opens sinks and says on which port, by the LuaJIT of `wrk`. */
function startParent({ command, env }: Wrk) {
  const open = `
    import { openNativeSinks } from ${JSON.stringify(join(import.meta.dirname, "../../../bench/sinks/native-sink.ts"))};
    const delays = { latencyMs: 0, recipientMs: 0 };
    const guard = { env: {}, hold() {}, removeAtEnd() {} };
    const sinks = await openNativeSinks(${JSON.stringify({ command, env })}, ["${ONE}"], { delays, guard });
    console.log(sinks.port);`;
  return spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", open], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** The sinks need Linux (epoll), as the bench does. */
const skip = process.platform === "linux" ? false : "there is no epoll";

describe("the sinks", { skip }, () => {
  let wrk: Wrk;
  before(async () => {
    wrk = await findWrk({ cacheDir: CACHE, guard: GUARD });
  });
  const open: OpenSinks = (addresses, delays) => openNativeSinks(wrk, addresses, { delays, guard: GUARD });
  dialogues(open);
  delayed(open);
  accounts(open);

  it("says why it cannot listen", async () => {
    await assert.rejects(open([ONE, "192.0.2.1"], NO_DELAYS), /no port that is free at all addresses: errno/);
  });

  it("ends with its parent, whatever ended that", async () => {
    const parent = startParent(wrk);
    const [port] = await once(createInterface({ input: parent.stdout }), "line");
    const client = createRawClient(Number(port), ONE);
    assert.match(await client.reply(), /^220/);
    parent.kill("SIGKILL");
    assert.match(await client.reply(), /closed|reset/);
  });
});
