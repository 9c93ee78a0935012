import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ConfigError } from "../../../src/config/config.ts";
import { ended, resultLines, submitted } from "../../support/bulk.ts";
import { say } from "../../support/mail-world/action.ts";
import type { MailHost } from "../../support/mail-world/host.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createSocksServer, type SocksServer } from "../../support/socks-server.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/**
 * A deployment with two source addresses and a proxy. The operator routes sites over the first address, one site over
 * the proxy, and others over both addresses. There each recipient always uses the same one, which greylisting depends
 * on.
 */
const [FIRST, SECOND, BEYOND] = ["127.0.1.1", "127.0.1.2", "127.0.1.3"];
const ENOUGH_MS = 240_000;
const PASSWORD = "hunter2-of-the-proxy";

const closing = createClosing();
const scratch = mkdtempSync(join(tmpdir(), "rcpt-ways-"));
closing.after(async () => rmSync(scratch, { recursive: true }));
let deployment: TestDeployment;
let socks: SocksServer;
let settings: Record<string, string>;
let api: TestApi;
let team: Team;

before(async () => {
  [deployment, socks] = await Promise.all([
    createDeployment(),
    createSocksServer({ login: { username: "rcpt", password: PASSWORD }, localAddress: BEYOND }),
  ]);
  closing.after(() => socks.close());
  closing.after(() => deployment.stop());
  const file = join(scratch, "shaping.json");
  writeFileSync(file, JSON.stringify(shapingOf(`proxy:127.0.0.1:${socks.port}`)));
  settings = {
    SMTP_SOURCE_ADDRESSES: `${FIRST}=first.rcpt.test,${SECOND}=second.rcpt.test`,
    SMTP_PROXIES: `socks5://rcpt:${PASSWORD}@127.0.0.1:${socks.port}#helo=beyond.rcpt.test`,
    SHAPING_FILE: file,
  };
  api = await deployment.startApi(settings);
  await deployment.startRelay(settings);
  team = await deployment.team("enterprise", { ratePerS: 1_000, rateBurst: 1_000 });
});
after(closing.close);

function shapingOf(proxy: string) {
  return {
    default: { ways: [FIRST] },
    providers: { both: { mx: ["mx*.both.test"], ways: [FIRST, SECOND], maxConnections: 1 } },
    sites: { "plain.test": { ways: [proxy] }, "blocked.test": { ways: [FIRST, SECOND] } },
  };
}

interface Seen {
  from: string;
  helo: string;
  recipient: string;
}

/** Recipients that `host` sees from now on, without catch-all probes, which begin with `q`. */
function watched(host: MailHost): Seen[] {
  const seen: Seen[] = [];
  host.setBehaviour("rcpt", ({ clientAddress, heloName }, { local, domain }) => {
    if (!local.startsWith("q"))
      seen.push({ from: clientAddress, helo: heloName, recipient: `${local}@${domain}` });
    return null;
  });
  return seen;
}

const reasonOf = async (address: string, query = "") =>
  (await api.verify(team.liveKey, address, query)).body.reason;

const numbered = (count: number, name: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => name(i));

describe("ways chosen by configuration", () => {
  it("are the site's, and go by their own names", async () => {
    const { world } = deployment;
    const [plain, lockstep] = [watched(world.host("mx.plain.test")), watched(world.host("mx.lockstep.test"))];
    assert.equal(await reasonOf("exists@plain.test"), "accepted_mailbox");
    assert.equal(await reasonOf("missing@plain.test"), "mailbox_not_found");
    assert.equal(await reasonOf("exists@lockstep.test"), "accepted_mailbox");
    for (const { from, helo } of plain) assert.deepEqual([from, helo], [BEYOND, "beyond.rcpt.test"]);
    for (const { from, helo } of lockstep) assert.deepEqual([from, helo], [FIRST, "first.rcpt.test"]);
    assert.deepEqual([plain.length, lockstep.length], [2, 1]);
    assert.ok(socks.logins.every((login) => login === `rcpt:${PASSWORD}`));
  });

  it("several of a provider that the operator knows are each recipient's own, with a cap each", async () => {
    const { world } = deployment;
    const host = world.host("mx.limited.test");
    for (const i of [1, 2]) world.dns.set(`mx${i}.both.test`, { a: [host.address] });
    world.dns.set("customer.test", { mx: [[10, "mx1.both.test"]] });
    const emails = numbered(40, (i) => `exists${i}@customer.test`);
    const seen = watched(host);
    host.resetCounters();
    host.hold("rcpt");
    const asked = emails.map((email) => api.verify(team.liveKey, email));
    // One connection an address, as the entry says, and no more than these.
    await world.until(() => host.account.open === 2);
    host.release();
    for (const { body } of await Promise.all(asked))
      assert.deepEqual([body.reason, body.checks.mx.provider], ["accepted_mailbox", "both"]);
    assert.equal(host.account.maxOpen, 2);
    const wayOf = new Map(seen.map(({ recipient, from }) => [recipient, from]));
    assert.equal(wayOf.size, emails.length);
    assert.deepEqual([...new Set(wayOf.values())].sort(), [FIRST, SECOND]);

    // Asked again, by another process without shared memory: the same route.
    const other = await deployment.startApi(settings);
    seen.length = 0;
    for (const email of emails.slice(0, 10)) await other.verify(team.liveKey, email, "&refresh=true");
    await other.stop();
    assert.equal(seen.length, 10);
    for (const { recipient, from } of seen) assert.equal(from, wayOf.get(recipient), recipient);
  });

  it("are met again by greylisting that goes by address: rows that were put off are let in", async () => {
    const { world } = deployment;
    const host = world.host("mx.blocked.test");
    const met = new Set<string>();
    host.setBehaviour("rcpt", ({ clientAddress }, { local, domain }) => {
      if (local.startsWith("q")) return null;
      const triplet = `${clientAddress} ${local}@${domain}`;
      if (met.has(triplet)) return null;
      met.add(triplet);
      return say("450 4.2.0 Greylisted, please try again later");
    });
    const emails = numbered(20, (i) => `exists-g${i}@blocked.test`);
    const bulk = await deployment.startBulk({ ...settings, DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "600" });
    const { id } = await submitted(api, team.liveKey, emails);
    await ended(api, team.liveKey, id, ENOUGH_MS);
    await bulk.stop();
    const lines = await resultLines(api, team.liveKey, id);
    assert.equal(lines.length, emails.length);
    for (const line of lines) assert.equal(line.reason, "accepted_mailbox", JSON.stringify(line));
    assert.equal(met.size, emails.length, "nobody came by another address");
    assert.equal(new Set([...met].map((triplet) => triplet.split(" ")[0])).size, 2);
  });

  it("whose proxy fails are reported as our network's fault, without the proxy's address", async () => {
    socks.behaviour = 1;
    // A session that is open would serve on.
    socks.cut();
    const { body } = await api.verify(team.liveKey, "exists-again@plain.test", "&evidence=true");
    assert.deepEqual(
      [body.verdict, body.reason, body.checks.smtp.fault],
      ["unknown", "our_network", "our_network"],
    );
    const text = JSON.stringify(body);
    for (const secret of [PASSWORD, String(socks.port), FIRST, BEYOND])
      assert.ok(!text.includes(secret), text);
    assert.equal(await reasonOf("exists-meanwhile@lockstep.test"), "accepted_mailbox");
    socks.behaviour = "serve";
    // The watch over our network may have noticed, and has to notice again.
    await until("the proxy is used again", async () => {
      return (await reasonOf("exists-again@plain.test", "&refresh=true")) === "accepted_mailbox";
    });
    assert.ok(!(await api.metrics()).includes(PASSWORD));
  });

  it("that are undefined, or malformed entries, stop the process with one line", async () => {
    const shaping = JSON.stringify(shapingOf("proxy:10.0.0.1:1080"));
    const { SHAPING_FILE: _, ...rest } = settings;
    await assert.rejects(
      deployment.startApi({ ...rest, SHAPING: shaping }),
      (error) =>
        error instanceof ConfigError &&
        error.message.startsWith("SHAPING: sites.plain.test.ways: proxy:10.0.0.1:1080 is no way"),
    );
  });
});
