import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSink, type Sink, type SinkOptions } from "../../support/mail-world/sink.ts";
import { createRawClient, type RawClient } from "./raw-client.ts";

async function withSink(
  options: SinkOptions,
  story: (client: RawClient, sink: Sink) => Promise<void>,
): Promise<void> {
  const sink = await createSink(options);
  const client = createRawClient(sink.port, sink.address);
  try {
    assert.match(await client.reply(), /^220/);
    await story(client, sink);
  } finally {
    client.close();
    await sink.close();
  }
}

const group = (local: string) => ["MAIL FROM:<>", `RCPT TO:<${local}@sink.test>`, "RSET"];
const codes = (replies: string[]) => replies.map((reply) => reply.slice(0, 3)).join(" ");

describe("the sink", () => {
  it("answers pipelined groups in order, and by local part", () =>
    withSink({}, async (client, sink) => {
      assert.match((await client.ask("EHLO a")).join(), /PIPELINING/);
      const replies = await client.ask(...group("user7"), ...group("missing-1"), ...group("q4ks0dk3"));
      assert.equal(codes(replies), "250 250 250 250 550 250 250 550 250");
      assert.deepEqual([sink.account.recipients, sink.account.maxBurst, sink.account.maxOpen], [3, 9, 1]);
      assert.equal(codes(await client.ask("QUIT")), "221");
      assert.equal(await client.reply(), "closed");
    }));

  it("takes a policy and an address", () =>
    withSink({ address: "127.0.0.4", accepts: (local) => local === "me" }, async (client, sink) => {
      assert.equal(sink.address, "127.0.0.4");
      assert.equal(codes(await client.ask(...group("me"), ...group("you"))), "250 250 250 250 550 250");
    }));

  it("puts a command together that comes in pieces", () =>
    withSink({}, async (client, sink) => {
      client.write("NOOP\r\nRCPT TO:<miss");
      assert.equal(codes([await client.reply()]), "250");
      client.write("ing@sink.test>\r");
      client.write("\n");
      assert.equal(codes([await client.reply()]), "550");
      assert.equal(sink.account.recipients, 1);
    }));

  it("keeps the order of answers that wait, and forgets them on close", () =>
    withSink({ latencyMs: 5 }, async (client) => {
      client.send("EHLO a");
      client.send(...group("missing"));
      const replies = [
        await client.reply(),
        await client.reply(),
        await client.reply(),
        await client.reply(),
      ];
      assert.equal(codes(replies), "250 250 550 250");
      client.send("NOOP");
    }));

  it("takes its time for each recipient of a connection, one after the other", () =>
    withSink({ recipientMs: 20 }, async (client) => {
      const startedMs = performance.now();
      client.send(...group("user1"), ...group("missing"));
      client.send(...group("user2"));
      const replies: string[] = [];
      while (replies.length < 9) replies.push(await client.reply());
      assert.equal(codes(replies), "250 250 250 250 550 250 250 250 250");
      // Timers have whole milliseconds.
      assert.ok(performance.now() - startedMs >= 3 * 20 - 1);
    }));
});
