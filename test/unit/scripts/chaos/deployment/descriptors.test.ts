import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { test } from "node:test";
import { describeDescriptors } from "../../../../../scripts/chaos/deployment/descriptors.ts";

test("descriptors are named by their kind, connections by their remote port", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clients = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  for (const client of clients) {
    t.after(() => client.destroy());
    await once(client, "connect");
  }
  const told = describeDescriptors(process.pid).split(", ");
  assert.ok(told.includes(`2 connection with port ${port}`), told.join());
  assert.ok(told.some((kind) => /^\d+ anon_inode:\[eventpoll\]$/.test(kind)));
});

test("a process that has ended has no descriptors", () => {
  assert.equal(describeDescriptors(2 ** 30), "");
});
