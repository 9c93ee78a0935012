import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { MessagePort, type Worker } from "node:worker_threads";
import { composeChecks } from "../../../../../src/app/checks/checks.ts";
import { loadConfig } from "../../../../../src/config/config.ts";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CheckPool } from "../../../../../src/engine/threads/pool.ts";
import { isDeferred } from "../../../../../src/engine/threads/thread-tasks.ts";
import type { AddressQuestion } from "../../../../../src/features/verify/answer/address-question.ts";
import {
  type BatchAnswer,
  type BatchExaminer,
  createBatchExaminer,
} from "../../../../../src/features/verify/batch/examine-batch.ts";
import { createEvidenceCache } from "../../../../../src/features/verify/cache/evidence-cache.ts";
import { createRetention } from "../../../../../src/features/verify/cache/retention.ts";
import { createMetrics } from "../../../../../src/platform/telemetry/metrics.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import { EVIDENCE_CODEC } from "../../../../../src/verification/evidence/model.ts";
import { openLists } from "../../../../../src/verification/lists/lists.ts";
import { decide } from "../../../../../src/verification/verdict/verdict.ts";
import { testRedisUrl } from "../../../../support/embedded.ts";
import { createMailWorld, type MailWorld } from "../../../../support/mail-world/world.ts";
import { createClosing, openRedis, silentLog } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";

/** A batch over real parts: cache in Redis, threads, sessions, and the mail world as the internet. */
const closing = createClosing();
let world: MailWorld;
let pool: CheckPool;
let batches: BatchExaminer;
/** The check threads that are alive. */
const threads = new Set<Worker>();

const noteThread = (worker: Worker) => {
  threads.add(worker);
  worker.once("exit", () => threads.delete(worker));
};

before(async () => {
  world = await createMailWorld();
  closing.after(() => world.close());
  process.on("worker", noteThread);
  closing.after(() => void process.off("worker", noteThread));
  const redisUrl = await testRedisUrl();
  const redis = await openRedis(closing, redisUrl);
  const config = loadConfig({
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    REDIS_URL: redisUrl,
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    SMTP_HELO_NAME: "probe.rcpt.test",
    PROBE_PRIVATE_ADDRESSES: "true",
    CHECK_THREADS: "2",
    EGRESS_ID: randomUUID(),
  });
  const checks = composeChecks({ config, log: silentLog, metrics: createMetrics(), redis });
  pool = checks.pool;
  checks.slots.start();
  closing.after(() => checks.slots.close());
  closing.after(() => checks.network.stop());
  closing.after(() => pool.close());
  await pool.ready();
  const clock = systemClock;
  const cache = createEvidenceCache({
    codec: EVIDENCE_CODEC,
    redis: redis.commands,
    clock,
    log: silentLog,
    maxEntries: 10_000,
  });
  const lists = openLists(checks.lists);
  const keep = createRetention({});
  const { signals } = config;
  const parts = { clock, log: silentLog, cache, lists, keep, pool, signals };
  batches = createBatchExaminer({ ...parts, onLookup: () => {} });
});
after(() => closing.close());

function question(email: string): AddressQuestion {
  const parsed = parseAddress(email);
  const address = parsed.ok ? parsed.address : null;
  const rest = { withEvidence: false, blocked: false, overridden: false, scope: "probed" } as const;
  return { teamId: "team_1", email, address, unwrapped: false, malformed: null, ...rest };
}

/** Control of a caller, which cancels only when the test says so. */
function control() {
  const callbacks: (() => void)[] = [];
  let gone = false;
  return {
    cancelled: () => gone,
    onCancel: (callback: () => void) => void callbacks.push(callback),
    cancel() {
      gone = true;
      for (const callback of callbacks) callback();
    },
  };
}

const CONTENT = { refresh: () => false, waitsForSite: false };
const PATIENT = { refresh: () => false, waitsForSite: true };

/** The reason that a verdict would give, or the cause of the deferral. */
function reasonOf(email: string, { finding, deferred }: BatchAnswer): string {
  if (deferred) return `${deferred.cause} ${deferred.site}`;
  const parsed = parseAddress(email);
  const address = parsed.ok ? parsed.address : null;
  const evidence = finding.entry?.evidence ?? null;
  return decide({ address, evidence, failure: finding.failure ?? null, probing: true, blocked: false })
    .reason;
}

function countsOf(reasons: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const reason of reasons) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

const numbered = (count: number, local: string, domain: string) =>
  Array.from({ length: count }, (_, i) => `${local}${i}@${domain}`);

async function reasonsOf(emails: readonly string[], options = CONTENT): Promise<string[]> {
  const answers = await batches.examine(emails.map(question), options, control()).done;
  return answers.map((answer, i) => reasonOf(emails[i] ?? "", answer));
}

/** Customers' domains at a provider to which shaping.json gives two connections, on a host of the world. */
function placeAt(mxName: string, domain: string, hostName: string) {
  const host = world.host(hostName);
  world.dns.set(mxName, { a: [host.address] });
  world.dns.set(domain, { mx: [[10, mxName]] });
  return host;
}

describe("a batch through threads and sessions", () => {
  it("is answered in order, over few connections, and then from the cache", async () => {
    const emails = ["exists", "missing", "disabled", "full"].flatMap((local) =>
      numbered(25, local, "plain.test"),
    );
    world.resetCounters();
    const reasons = await reasonsOf(emails);
    const expected = ["accepted_mailbox", "mailbox_not_found", "mailbox_disabled", "mailbox_full"];
    assert.deepEqual(
      reasons,
      expected.flatMap((reason) => new Array<string>(25).fill(reason)),
    );
    const { account } = world.host("mx.plain.test");
    assert.ok(account.connections < emails.length / 3, `${account.connections} connections`);
    world.resetCounters();
    const again = await batches.examine(emails.map(question), CONTENT, control()).done;
    assert.ok(again.every(({ finding }) => finding?.cached === true));
    assert.equal(account.connections, 0);
  });

  it("says at once which rows a capped site has no room for, and answers the rows of others", async () => {
    const host = placeAt("smtp.laposte.net", "capped.test", "mx.limited.test");
    host.hold("rcpt");
    const capped = numbered(500, "exists", "capped.test");
    const others = [...numbered(60, "exists", "lockstep.test"), ...numbered(60, "missing", "tls.test")];
    const emails = capped.flatMap((email, i) => [email, ...(others[i] === undefined ? [] : [others[i]])]);
    const work = control();
    const run = batches.examine(emails.map(question), CONTENT, work);
    // All but the line of the capped site are answered while it says nothing.
    const line = 2 * 10 * LIMITS.bulk.lineFillings;
    await until("only the line is left", () => run.left === line);
    assert.ok(host.account.maxOpen <= 2);
    host.release();
    const reasons = (await run.done).map((answer, i) => reasonOf(emails[i] ?? "", answer));
    assert.deepEqual(countsOf(reasons), {
      accepted_mailbox: line + 60,
      mailbox_not_found: 60,
      "busy laposte": capped.length - line,
    });
  });

  it("queues all its rows when it waits for sites", async () => {
    placeAt("smtp-in.sfr.fr", "patient.test", "mx.blocked.test");
    const emails = numbered(200, "exists", "patient.test");
    assert.deepEqual(countsOf(await reasonsOf(emails, PATIENT)), { accepted_mailbox: emails.length });
    assert.ok(world.host("mx.blocked.test").account.maxOpen <= 2);
  });

  it("answers what it knows when it is handed in, and names the site of the rest", async () => {
    const emails = [...numbered(30, "tarpit", "plain.test"), ...numbered(30, "missing-in", "multiline.test")];
    const run = batches.examine(emails.map(question), CONTENT, control());
    await until("only the silent ones are left", () => run.left === 30);
    run.stopWaiting();
    const reasons = (await run.done).map((answer, i) => reasonOf(emails[i] ?? "", answer));
    assert.deepEqual(countsOf(reasons), { "unfinished plain.test": 30, mailbox_not_found: 30 });
    // The batch stops asking: its sessions do not wait for the server's timeout.
    await until("nothing is under way", () => pool.inFlight === 0);
  });

  it("ends when it is cancelled", async () => {
    const work = control();
    const run = batches.examine(numbered(20, "tarpit", "rude.test").map(question), CONTENT, work);
    await world.until(() => world.host("mx.rude.test").account.open > 0);
    work.cancel();
    assert.deepEqual(
      new Set((await run.done).map(({ deferred }) => deferred?.cause)),
      new Set(["unfinished"]),
    );
    await until("nothing is under way", () => pool.inFlight === 0);
  });

  it("goes on when its threads die under it", async () => {
    const host = world.host("mx.limited.test");
    host.hold("rcpt");
    const emails = numbered(40, "exists-dying", "limited.test");
    const run = batches.examine(emails.map(question), PATIENT, control());
    await world.until(() => host.account.open > 0);
    assert.equal(threads.size, 2);
    await Promise.all([...threads].map((thread) => thread.terminate()));
    host.release();
    const reasons = (await run.done).map((answer, i) => reasonOf(emails[i] ?? "", answer));
    assert.deepEqual(countsOf(reasons), { accepted_mailbox: 40 });
  });
});

describe("the pool", () => {
  it("takes a thousand addresses in one message, and answers them in one", async (t) => {
    const addresses = numbered(LIMITS.check.batchAddresses, "exists", "plain.test");
    const posted = t.mock.method(MessagePort.prototype, "postMessage");
    const lines = await pool.checkBatch(addresses, "unprobed", "bulk").outcomes;
    const tasks = posted.mock.calls.filter((call) => JSON.stringify(call.arguments).includes("@plain.test"));
    assert.equal(tasks.length, 1);
    const statuses = lines.map(
      (line) => line !== null && typeof line === "object" && "mx" in line && line.mx.status,
    );
    assert.deepEqual(countsOf(statuses.map(String)), { ok: addresses.length });
  });

  it("refuses what it has no room for, and counts only rows without an answer", async () => {
    const host = world.host("mx.limited.test");
    host.hold("rcpt");
    const addresses = [
      ...numbered(5, "exists-held", "limited.test"),
      ...numbered(200, "missing-c", "plain.test"),
    ];
    const batch = pool.checkBatch(addresses, "probed", "patient");
    await until("five are left", () => batch.remaining === 5);
    assert.equal(pool.inFlight, 5);
    host.release();
    await batch.outcomes;
    assert.deepEqual([pool.inFlight, batch.remaining], [0, 0]);
    assert.throws(() => pool.checkBatch([], "probed", "bulk"), RangeError);
    const many = numbered(LIMITS.check.batchAddresses + 1, "a", "plain.test");
    assert.throws(() => pool.checkBatch(many, "probed", "bulk"), RangeError);
  });

  it("asks about so many of a batch at once, has room for the others all the same, and answers each", async () => {
    const host = world.host("mx.limited.test");
    host.hold("rcpt");
    const atOnce = 4;
    const addresses = numbered(40, "exists-window", "limited.test");
    const batch = pool.checkBatch(addresses, "probed", "patient", atOnce);
    await until("one is asked about", () => host.account.held > 0);
    assert.deepEqual([pool.inFlight, batch.remaining], [atOnce, addresses.length]);
    host.release();
    const lines = await batch.outcomes;
    assert.equal(lines.length, addresses.length);
    for (const line of lines)
      assert.ok(line !== null && typeof line === "object" && "smtp" in line && line.smtp !== null);
    assert.deepEqual([pool.inFlight, batch.remaining], [0, 0]);
  });

  it("answers nothing more once it was closed, and takes nothing", async () => {
    const batch = pool.checkBatch(numbered(10, "tarpit", "plain.test"), "probed", "patient");
    const run = batches.examine(numbered(10, "tarpit", "limited.test").map(question), PATIENT, control());
    await until("sessions are open", () => world.host("mx.limited.test").account.open > 0);
    await pool.close();
    // Rows whose sessions were closed are unfinished, if their thread could still report that.
    for (const line of await batch.outcomes) assert.ok(line === null || isDeferred(line));
    assert.deepEqual(
      new Set((await run.done).map(({ deferred }) => deferred?.cause)),
      new Set(["unfinished"]),
    );
    assert.throws(() => pool.checkBatch(["a@plain.test"], "probed", "bulk"), { code: "unavailable" });
  });
});
