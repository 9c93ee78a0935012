import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { decode, encode } from "dns-packet";
import { checkPort25, explainPort25, port25Config } from "../../../../scripts/start/port25.ts";

/** A name server that says every domain's exchanger is at 127.0.0.1. */
async function nameServer(): Promise<{ socket: Socket; address: string }> {
  const socket = createSocket("udp4");
  socket.on("message", (message, { port, address }) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    if (!question) return;
    const { name, type } = question;
    const data = type === "MX" ? { preference: 1, exchange: "mx.test" } : "127.0.0.1";
    const answers = type === "MX" || type === "A" ? [{ type, name, ttl: 60, data } as never] : [];
    socket.send(
      encode({ type: "response", id: query.id ?? 0, questions: [question], answers }),
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

function configOf(dnsServer: string, port: number) {
  const settings = { DNS_SERVERS: dnsServer, SMTP_PORT: String(port), PROBE_PRIVATE_ADDRESSES: "true" };
  return port25Config(settings) ?? assert.fail("settings that are right");
}

test("open, closed, and undecidable", async () => {
  const { socket, address } = await nameServer();
  const { port, close } = await listener();
  const ask = (dnsServer: string) => checkPort25(configOf(dnsServer, port), 60_000);
  assert.equal(await ask(address), "open");
  close();
  assert.equal(await ask(address), "closed");
  socket.close();
  assert.equal(await ask("127.0.0.1:1"), "unknown");
  assert.match(explainPort25("closed", false), /our_network/);
});

test("a name server that never answers does not hold up more than the time given", async () => {
  const silent = createSocket("udp4");
  silent.bind(0, "127.0.0.1");
  await once(silent, "listening");
  assert.equal(await checkPort25(configOf(`127.0.0.1:${silent.address().port}`, 25), 600), "unknown");
  silent.close();
});

test("wrong settings are left to the service, which says what is wrong", () => {
  for (const DNS_SERVERS of ["foo", "1.2.3.4:99999999", "[::1", "::1:53:"])
    assert.equal(port25Config({ DNS_SERVERS }), null, DNS_SERVERS);
  assert.equal(port25Config({ SHAPING: "{" }), null);
});

test("an open port without a HELO name is explained", () => {
  assert.match(explainPort25("open", false), /SMTP_HELO_NAME/);
  assert.doesNotMatch(explainPort25("open", true), /SMTP_HELO_NAME/);
});
