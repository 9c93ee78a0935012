import assert from "node:assert/strict";
import { it } from "node:test";
import { createSink } from "../../../scripts/demo/sink.ts";
import { createRawClient } from "../mail-world/raw-client.ts";

const group = (local: string) => ["MAIL FROM:<>", `RCPT TO:<${local}@sink.test>`, "RSET"];
const codes = (replies: string[]) => replies.map((reply) => reply.slice(0, 3)).join(" ");

it("the demo's mail server answers pipelined groups in order, commands in pieces, and QUIT", async (t) => {
  const accepts = (local: string, domain: string) => local === "me" && domain === "sink.test";
  const sink = await createSink({ address: "127.0.0.4", port: 0, accepts });
  const client = createRawClient(sink.port, sink.address);
  t.after(async () => {
    client.close();
    await sink.close();
  });
  assert.match(await client.reply(), /^220/);
  assert.match((await client.ask("EHLO a")).join(), /PIPELINING/);
  const replies = await client.ask(...group("me"), ...group("you"), ...group("q4ks0dk3"));
  assert.equal(codes(replies), "250 250 250 250 550 250 250 550 250");
  client.write("NOOP\r\nRCPT TO:<yo");
  assert.equal(codes([await client.reply()]), "250");
  client.write("u@sink.test>\r");
  client.write("\n");
  assert.equal(codes([await client.reply()]), "550");
  assert.equal(codes(await client.ask("QUIT")), "221");
  assert.equal(await client.reply(), "closed");
});
