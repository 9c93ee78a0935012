// Alone in its process: it counts the handles of its process.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { describe, it } from "node:test";
import { DEAD_ADDRESSES } from "../../support/mail-world/domains.ts";
import { createMailWorld } from "../../support/mail-world/world.ts";
import { until } from "../../support/until.ts";
import { createRawClient, dial } from "./raw-client.ts";

/** The error code of a connection attempt, or "connected". */
async function attempt(port: number, address: string): Promise<string> {
  const socket = connect(port, address);
  try {
    await once(socket, "connect");
    return "connected";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "error";
  } finally {
    socket.destroy();
  }
}

/** Number of servers, connections and sockets that keep the process alive. */
const openHandles = () => process.getActiveResourcesInfo().filter((kind) => /TCP|UDP/.test(kind)).length;

/** Timers that do. */
const openTimers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

describe("the mail world", () => {
  it("has one port on distinct addresses, and no listener on the dead ones", async () => {
    const world = await createMailWorld();
    try {
      const addresses = world.hosts().map(({ address }) => address);
      assert.equal(new Set(addresses).size, addresses.length);
      for (const address of addresses) assert.equal(await attempt(world.smtpPort, address), "connected");
      for (const address of DEAD_ADDRESSES) {
        assert.equal(await attempt(world.smtpPort, address), "ECONNREFUSED");
      }
    } finally {
      await world.close();
    }
  });

  it("several stand side by side and know nothing of each other", async () => {
    const worlds = await Promise.all([createMailWorld(), createMailWorld(), createMailWorld()]);
    try {
      assert.equal(new Set(worlds.map(({ smtpPort }) => smtpPort)).size, 3);
      const [first, second] = worlds;
      assert.ok(first && second);
      const client = dial(first, "mx.plain.test");
      assert.match(await client.reply(), /^220/);
      client.close();
      assert.equal(first.host("mx.plain.test").account.connections, 1);
      assert.equal(second.host("mx.plain.test").account.connections, 0);
    } finally {
      await Promise.all(worlds.map((world) => world.close()));
    }
  });

  it("leaves no handle and no port behind, whatever is going on when it closes", async () => {
    const timersBefore = openTimers();
    await until("those of the tests before this one have closed", () => openHandles() === 0);
    const world = await createMailWorld({ dripIntervalMs: 1_000 });
    const hosts = ["plain", "tarpit-connect", "slow-banner", "flood-banner"].map((name) => `mx.${name}.test`);
    const clients = hosts.map((host) => dial(world, host));
    const endless = dial(world, "mx.endless-ehlo.test");
    await endless.reply();
    endless.send("EHLO a");
    await endless.until(() => endless.received() > 100_000);
    world.host("mx.plain.test").hold("ehlo");
    clients[0]?.send("EHLO a");
    world.dns.hold();
    await world.until(() => world.host("mx.plain.test").account.held === 1);
    const never = assert.rejects(
      world.until(() => false),
      /closed/,
    );
    await world.close();
    await never;
    for (const client of [...clients, endless]) client.close();
    assert.equal(openTimers(), timersBefore);
    await until("all are closed", () => openHandles() === 0);
    assert.equal(await attempt(world.smtpPort, world.host("mx.plain.test").address), "ECONNREFUSED");
    const successor = createServer().listen(world.smtpPort, world.host("mx.plain.test").address);
    await once(successor, "listening");
    successor.close();
  });

  it("takes hosts of a test's own", async () => {
    const world = await createMailWorld({ hosts: [{ name: "customer.mail.protection.example" }] });
    try {
      const client = dial(world, "customer.mail.protection.example");
      assert.match(await client.reply(), /^220 customer\.mail\.protection\.example /);
      client.close();
      assert.throws(() => world.host("mx.nobody.test"), /no host/);
    } finally {
      await world.close();
    }
  });

  it("has the well-behaved host on ::1 too, where there is one", async (t) => {
    const world = await createMailWorld();
    try {
      const listed = world.expectations.some(({ needs }) => needs === "ipv6");
      if (!listed) return t.skip("no IPv6 on this machine");
      const client = createRawClient(world.smtpPort, "::1");
      assert.match(await client.reply(), /^220/);
      client.close();
    } finally {
      await world.close();
    }
  });
});
