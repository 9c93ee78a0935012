import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { readBody } from "../../../scripts/embedded/s3/body.ts";
import { withStaged } from "../../../scripts/embedded/s3/object-file.ts";

it("a body has not come to its end while its last piece is being written", async (t) => {
  const order: string[] = [];
  const server = createServer(async (req, res) => {
    req.once("end", () => order.push("all is read"));
    // By then the end follows the piece already, and is emitted although the stream is paused.
    while (!req.complete) await turn();
    await readBody(req, "UNSIGNED-PAYLOAD", async () => {
      for (let i = 0; i < 20; i++) await turn();
      order.push("the piece is written");
    });
    order.push("the body is whole");
    res.end();
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const req = request({ port: (server.address() as AddressInfo).port, method: "PUT", agent: false });
  req.setHeader("Transfer-Encoding", "chunked");
  req.end("piece");
  const [response] = await once(req, "response");
  response.resume();
  await once(response, "end");
  assert.deepEqual(order, ["all is read", "the piece is written", "the body is whole"]);
});

it("what was on its way into a file when its source gave up leaves nothing", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-staged-"));
  t.after(() => rmSync(folder, { recursive: true }));
  let written: Promise<void> | null = null;
  const source = async (take: (piece: Buffer) => Promise<void> | null): Promise<never> => {
    written = take(Buffer.alloc(2 << 20));
    throw new Error("the client went away");
  };
  await assert.rejects(
    withStaged(folder, source, () => undefined),
    /went away/,
  );
  await written;
  assert.deepEqual(readdirSync(folder), []);
});
