import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { after, afterEach, before, describe, it } from "node:test";
import { createQuotaLedger } from "../../../src/features/quota/quota-ledger.ts";
import type { MailHost } from "../../support/mail-world/host.ts";
import { connect, type RawClient } from "../../support/raw-http.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/**
 * A client that disconnects costs nothing from then on: no check, no unit of quota, no socket, and no other client's
 * answer.
 */
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
const clients = new Set<RawClient>();

before(async () => {
  deployment = await createDeployment();
});
after(() => deployment.stop());

afterEach(() => {
  deployment.world.dns.release();
  for (const host of deployment.world.hosts()) host.release();
  for (const client of clients) client.destroy();
  clients.clear();
});

/** A client that has asked, and not taken the answer yet. */
function ask(address: string): RawClient {
  const client = connect(Number(new URL(api.url).port));
  clients.add(client);
  client.send(
    `GET /v1/verify?email=${encodeURIComponent(address)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${team.liveKey}\r\n\r\n`,
  );
  return client;
}

async function gauge(name: string): Promise<number> {
  const [, value] = new RegExp(`^${name} (\\d+)$`, "m").exec(await api.metrics()) ?? [];
  return Number(value ?? assert.fail(`no ${name}`));
}

const isIdle = async () =>
  (await gauge("rcpt_checks_in_flight")) === 0 && (await gauge("rcpt_http_requests_in_flight")) === 0;

/** Stops the API, which settles its leases, and says what the team's day has cost. */
async function costOfDay(): Promise<number> {
  await api.stop();
  return (await createQuotaLedger(deployment.sql).usage(team.id)).used;
}

const rcptsOf = ({ account }: MailHost) =>
  account.commands.filter(({ line }) => line.startsWith("RCPT ")).length;

describe("a client that leaves", () => {
  let host: MailHost;

  before(() => {
    host = deployment.world.host("mx.lockstep.test");
  });

  async function start() {
    api = await deployment.startApi();
    team = await deployment.team("enterprise");
    deployment.world.resetCounters();
  }

  it("while the server keeps it waiting: the check ends, costs nothing and leaves nothing behind", async () => {
    await start();
    host.hold("rcpt");
    const client = ask("exists-left@lockstep.test");
    await deployment.world.until(() => host.account.held === 1);
    assert.equal(await gauge("rcpt_checks_in_flight"), 1);
    client.destroy();
    // The server still holds its answer back.
    await until("the check has ended", isIdle);
    assert.equal(host.account.held, 1);
    host.release();
    const { body } = await api.verify(team.liveKey, "exists-left@lockstep.test");
    assert.deepEqual([body.verdict, body.cached], ["valid", false]);
    assert.doesNotMatch(await api.metrics(), /^rcpt_verifications_total\{.*reason="internal_error"/m);
    assert.equal(await costOfDay(), 1);
  });

  it("while others wait for the same address: they get their answer, of one probe, and pay for it", async () => {
    await start();
    host.hold("rcpt");
    const gone = [ask("exists-shared@lockstep.test"), ask("exists-shared@lockstep.test")];
    await deployment.world.until(() => host.account.held === 1);
    const staying = ask("exists-shared@lockstep.test");
    await until("three wait", async () => (await gauge("rcpt_http_requests_in_flight")) === 3);
    for (const client of gone) client.destroy();
    await until("one waits", async () => (await gauge("rcpt_http_requests_in_flight")) === 1);
    host.release();
    const reply = await staying.reply();
    assert.deepEqual([reply.status, reply.json().verdict], [200, "valid"]);
    assert.ok(rcptsOf(host) <= 2, "the address itself, and the random one of its domain");
    const { body } = await api.verify(team.liveKey, "exists-shared@lockstep.test");
    assert.equal(body.cached, true);
    assert.equal(await costOfDay(), 2);
  });

  it("does not affect a request for the same address right after", async () => {
    await start();
    host.hold("rcpt");
    const client = ask("exists-again@lockstep.test");
    await deployment.world.until(() => host.account.held === 1);
    client.destroy();
    await until("the check has ended", isIdle);
    const next = ask("exists-again@lockstep.test");
    await until("it waits", async () => (await gauge("rcpt_http_requests_in_flight")) === 1);
    host.release();
    assert.equal((await next.reply()).json().verdict, "valid");
    assert.equal(await costOfDay(), 1);
  });

  it("while the DNS is asked: no mail server is asked", async () => {
    await start();
    const { world } = deployment;
    world.dns.hold();
    const client = ask("exists@one-recipient.test");
    await world.until(() => world.dns.totals.held > 0);
    client.destroy();
    await until("the request has ended", async () => (await gauge("rcpt_http_requests_in_flight")) === 0);
    world.dns.release();
    await until("the check has ended", isIdle);
    assert.equal(world.host("mx.one-recipient.test").account.connections, 0);
    assert.equal((await api.verify(team.liveKey, "exists@one-recipient.test")).body.cached, false);
    await api.stop();
  });

  it("with a crowd that waits for connections: not one more recipient is named for them", async () => {
    await start();
    host.hold("rcpt");
    const crowd = Array.from({ length: 100 }, (_, i) => ask(`exists-crowd${i}@lockstep.test`));
    await until("all wait", async () => (await gauge("rcpt_checks_in_flight")) === crowd.length);
    await deployment.world.until(() => host.account.held > 0);
    for (const client of crowd) client.destroy();
    await until("no check is left", isIdle);
    const named = rcptsOf(host);
    host.release();
    await deployment.world.until(() => host.account.held === 0);
    const { body } = await api.verify(team.liveKey, "exists-crowd0@lockstep.test");
    assert.deepEqual([body.verdict, body.cached], ["valid", false]);
    assert.ok(rcptsOf(host) - named <= 2, `${rcptsOf(host) - named} recipients named after all had gone`);
    assert.equal(await costOfDay(), 1);
  });
});

const PROC = "/proc/self/fd";
const STORM = 500;
const AT_ONCE = 100;
/** Connections to Postgres and Redis that come and go, and what the world and the runner hold open. */
const FD_SLACK = 40;

describe("a storm of clients that come and go", () => {
  it("leaves no check, no descriptor and no cost", { skip: !existsSync(PROC) && "needs /proc" }, async () => {
    api = await deployment.startApi();
    team = await deployment.team("enterprise");
    const host = deployment.world.host("mx.multiline.test");
    assert.equal((await api.verify(team.liveKey, "exists@multiline.test")).body.verdict, "valid");
    const descriptors = () => readdirSync(PROC).length;
    const start = descriptors();
    host.hold("rcpt");
    for (let done = 0; done < STORM; done += AT_ONCE) {
      const storm = Array.from({ length: AT_ONCE }, (_, i) => ask(`exists-${done + i}@multiline.test`));
      // Some disconnect before their request is read, some while the first checks run, the rest later.
      for (const client of storm.slice(0, AT_ONCE / 2)) client.destroy();
      await until("some checks run", async () => (await gauge("rcpt_checks_in_flight")) > 0);
      for (const client of storm) client.destroy();
    }
    await until("nothing is in flight", isIdle);
    host.release();
    await until("the descriptors are given back", () => descriptors() <= start + FD_SLACK);
    assert.equal((await api.verify(team.liveKey, "exists-after@multiline.test")).body.verdict, "valid");
    assert.equal(await costOfDay(), 2);
  });
});
