import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { decode, encode } from "dns-packet";
import { checkPort25, explainPort25 } from "../../../../scripts/start/port25.ts";

/** A name server that says every domain's exchanger is at 127.0.0.1. */
async function nameServer(): Promise<{ socket: Socket; address: string }> {
  const socket = createSocket("udp4");
  socket.on("message", (message, { port, address }) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    if (!question) return;
    const { name, type } = question;
    const data = type === "MX" ? { preference: 1, exchange: "mx.test" } : "127.0.0.1";
    const answer = { type, name, ttl: 60, data } as never;
    socket.send(
      encode({ type: "response", id: query.id ?? 0, questions: [question], answers: [answer] }),
      port,
      address,
    );
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { socket, address: `127.0.0.1:${socket.address().port}` };
}

async function listener(): Promise<{ port: number; close: () => void }> {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { port: address.port, close: () => server.close() };
}

test("open, closed, and no way to tell", async () => {
  const { socket, address } = await nameServer();
  const { port, close } = await listener();
  const ask = (dnsServer: string, to: number) =>
    checkPort25({ dnsServers: [dnsServer], domains: ["a.test", "b.test"], port: to, withinMs: 60_000 });
  assert.equal(await ask(address, port), "open");
  close();
  assert.equal(await ask(address, port), "closed");
  socket.close();
  assert.equal(await ask("127.0.0.1:1", port), "unknown");
  assert.match(explainPort25("closed"), /our_network/);
});

test("a name server that never answers does not hold up more than the time given", async () => {
  const silent = createSocket("udp4");
  silent.bind(0, "127.0.0.1");
  await once(silent, "listening");
  const dnsServers = [`127.0.0.1:${silent.address().port}`];
  assert.equal(await checkPort25({ dnsServers, domains: ["a.test"], port: 25, withinMs: 600 }), "unknown");
  silent.close();
});

test("what is no name server's address ends in no way to tell, not in an error", async () => {
  for (const server of ["foo", "1.2.3.4:99999999", "[::1", "::1:53:"])
    assert.equal(
      await checkPort25({ dnsServers: [server], domains: ["a.test"], port: 25, withinMs: 600 }),
      "unknown",
      server,
    );
});
