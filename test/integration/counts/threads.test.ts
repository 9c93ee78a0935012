import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { composeChecks } from "../../../src/app/checks/checks.ts";
import { loadConfig } from "../../../src/config/config.ts";
import type { CheckPool } from "../../../src/engine/threads/pool.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";
import type { Scope } from "../../../src/verification/evidence.ts";
import { requireBounded } from "../../support/counted.ts";
import { type CountingMail, createCountingMail } from "../../support/counting-mail.ts";
import { testRedisUrl } from "../../support/embedded.ts";
import { createClosing, openRedis, silentLog } from "../../support/store.ts";
import { countThreadMessages } from "../../support/thread-messages.ts";

interface Crossed {
  elapsedS: number;
  messages: number;
  bytes: number;
}

const DOMAINS = 20;
const BATCH = 1_000;

/** One check thread with its sessions, and the line of messages to it. */
function useThread(net: number, pipelining: boolean) {
  const closing = createClosing();
  let messages: ReturnType<typeof countThreadMessages> | null = null;
  let mail: CountingMail | null = null;
  let pool: CheckPool | null = null;
  before(async () => {
    messages = countThreadMessages();
    closing.after(() => messages?.stop());
    mail = await createCountingMail({ domains: DOMAINS, net, pipelining });
    closing.after(() => mail?.close());
    const redisUrl = await testRedisUrl();
    const redis = await openRedis(closing, redisUrl);
    const config = loadConfig({
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
      REDIS_URL: redisUrl,
      DNS_SERVERS: mail.dnsServer,
      SMTP_PORT: String(mail.smtpPort),
      SMTP_HELO_NAME: "probe.rcpt.test",
      PROBE_PRIVATE_ADDRESSES: "true",
      DNSBL_ZONES: "none",
      CHECK_THREADS: "1",
      EGRESS_ID: randomUUID(),
    });
    const checks = composeChecks({ config, log: silentLog, metrics: createMetrics(), redis });
    pool = checks.pool;
    checks.slots.start();
    closing.after(() => checks.slots.close());
    closing.after(() => checks.network.stop());
    closing.after(() => checks.pool.close());
    await checks.pool.ready();
  });
  after(() => closing.close());

  /** Addresses that no test has asked about, each domain in turn; all exist. */
  let asked = 0;
  const fresh = (count: number, domains = DOMAINS) =>
    Array.from({ length: count }, (_, i) => `exists${asked++}@d${i % domains}.count.test`);
  async function during(work: (checks: CheckPool) => Promise<void>): Promise<Crossed> {
    const { counts } = messages ?? assert.fail("not started");
    const before = { ...counts };
    const startMs = performance.now();
    await work(pool ?? assert.fail("not started"));
    return {
      elapsedS: (performance.now() - startMs) / 1_000,
      messages: counts.sent - before.sent + counts.received - before.received,
      bytes: counts.sentBytes - before.sentBytes + counts.receivedBytes - before.receivedBytes,
    };
  }

  return {
    fresh,
    mail: () => mail ?? assert.fail("not started"),
    batch: (addresses: readonly string[], scope: Scope) =>
      during(async (checks) => {
        const lines = await checks.checkBatch(addresses, scope, "patient").outcomes;
        const unknown = lines.filter(
          (line) => line === null || typeof line === "string" || "deferred" in line,
        );
        assert.deepEqual([lines.length, unknown], [addresses.length, []]);
      }),
    /** All at once, as requests of one turn of the event loop. */
    singles: (addresses: readonly string[], scope: Scope) =>
      during(async (checks) => {
        const found = await Promise.all(addresses.map((address) => checks.check(address, scope).evidence));
        assert.ok(found.every((evidence) => evidence !== null));
      }),
  };
}

describe("what crosses to a check thread", () => {
  const thread = useThread(41, true);

  it("is a message for many, and few bytes a row", async () => {
    const dns = () => thread.mail().dns.totals.queries;
    await thread.batch(thread.fresh(BATCH), "unprobed");
    requireBounded("dns.unprobed", dns(), DOMAINS);
    const { messages, bytes } = await thread.batch(thread.fresh(BATCH), "unprobed");
    requireBounded("batch.messages", messages, BATCH);
    requireBounded("batch.bytes", bytes, BATCH);
    const singles = await thread.singles(thread.fresh(BATCH), "unprobed");
    requireBounded("singles.messages", singles.messages, BATCH);
    requireBounded("dns.unprobed", dns(), DOMAINS);
  });

  it("is as little where mailboxes are probed, but for connections", async () => {
    // The one that makes the connections, and asks for their slots.
    await thread.batch(thread.fresh(BATCH), "probed");
    const second = await thread.batch(thread.fresh(BATCH), "probed");
    const third = await thread.batch(thread.fresh(BATCH), "probed");
    const all = 3 * BATCH;
    const elapsedS = second.elapsedS + third.elapsedS;
    requireBounded("probed.messages", second.messages + third.messages, 2 * BATCH, elapsedS);
    requireBounded("probed.batch.bytes", third.bytes, BATCH);
    requireBounded("dns.probed", thread.mail().dns.totals.queries, DOMAINS);
    const { connections, commands, turns } = thread.mail().take();
    requireBounded("smtp.connections", connections, all);
    requireBounded("smtp.rcpt", commands.RCPT ?? 0, all);
    requireBounded("smtp.mail", commands.MAIL ?? 0, all);
    requireBounded("smtp.turns.pipelined", turns, all);
  });
});

describe("what a server that does not pipeline is asked", () => {
  const thread = useThread(42, false);

  it("is three commands an address, each a round trip, over few connections", async () => {
    for (let i = 0; i < 3; i++) await thread.batch(thread.fresh(BATCH), "probed");
    const { connections, commands, turns } = thread.mail().take();
    const all = 3 * BATCH;
    requireBounded("smtp.connections", connections, all);
    requireBounded("smtp.rcpt", commands.RCPT ?? 0, all);
    requireBounded(
      "smtp.commands",
      Object.values(commands).reduce((sum, count) => sum + count, 0),
      all,
    );
    requireBounded("smtp.turns.lock_step", turns, all);
  });
});
