import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, resultsText } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { requireBounded } from "../../support/counted.ts";
import { type CountingMail, createCountingMail } from "../../support/counting-mail.ts";
import { createOutside, type Outside } from "../../support/outside-counts.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

const ROWS = 5_000;
const CHUNKS = 5;
const DOMAINS = 20;

describe("what rows of jobs cost beyond the process", () => {
  const closing = createClosing();
  let mail: CountingMail;
  let deployment: TestDeployment;
  let outside: Outside;
  let api: TestApi;

  before(async () => {
    mail = await createCountingMail({ domains: DOMAINS, net: 44, pipelining: true });
    closing.after(() => mail.close());
    deployment = await createDeployment();
    closing.after(() => deployment.stop());
    outside = await createOutside(deployment);
    closing.after(() => outside.close());
    const settings = {
      ...{ CHECK_THREADS: "1", DNSBL_ZONES: "none" },
      // A row that meets a full site on a slow machine comes again soon.
      ...{ DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "8" },
      ...{ DNS_SERVERS: mail.dnsServer, SMTP_PORT: String(mail.smtpPort) },
    };
    // Whose own polls would be counted too: only the worker goes by the counters.
    api = await deployment.startApi({ ...settings, REDIS_URL: outside.settings.REDIS_URL ?? "" });
    closing.after(() => api.stop());
    const worker = await deployment.startBulk({ ...settings, ...outside.settings });
    closing.after(() => worker.stop());
    // A row that is put off comes again by the relay, which asks for itself.
    const relay = await deployment.startRelay({ REDIS_URL: outside.settings.REDIS_URL ?? "" });
    closing.after(() => relay.stop());
  });
  after(() => closing.close());

  /** A job from its upload to its end. */
  async function job(team: Team): Promise<string> {
    const addresses = Array.from({ length: ROWS }, (_, i) => `exists-row${i}@d${i % DOMAINS}.count.test`);
    const upload_id = await uploaded(api, team.liveKey, `email\n${addresses.join("\n")}\n`);
    const { status, body } = await submitAs(api, team.liveKey, { upload_id });
    assert.equal(status, 202, JSON.stringify(body));
    const over = await ended(api, team.liveKey, body.id, 300_000);
    assert.deepEqual([over.status, over.rows.processed], ["completed", ROWS]);
    return body.id;
  }

  it("is a few calls a chunk where nobody is probed", async () => {
    const team = await deployment.team("pro");
    const { elapsedS, redis, transactions, objects } = await outside.during(
      async () => void (await job(team)),
    );
    requireBounded("bulk.unprobed.redis.reads", redis.reads, ROWS, elapsedS);
    requireBounded("bulk.unprobed.postgres.transactions", transactions, CHUNKS, elapsedS);
    requireBounded("bulk.unprobed.objects", objects.requests, CHUNKS);
    assert.deepEqual(mail.take(), { connections: 0, commands: {}, turns: 0 });
  });

  it("is little more where mailboxes are probed, and nothing is asked twice", async () => {
    const team = await deployment.team("enterprise");
    const first = await outside.during(async () => void (await job(team)));
    const { elapsedS, redis, transactions, objects } = first;
    requireBounded("bulk.probed.redis.reads", redis.reads, ROWS, elapsedS);
    requireBounded("bulk.probed.redis.scripts", redis.scripts, ROWS, elapsedS);
    requireBounded("bulk.probed.postgres.transactions", transactions, CHUNKS, elapsedS);
    requireBounded("bulk.probed.objects", objects.requests, CHUNKS);
    requireBounded("bulk.shard.bytes", objects.shardBytes, ROWS);
    const asked = mail.take();
    requireBounded("bulk.probed.rcpt", asked.commands.RCPT ?? 0, ROWS);
    requireBounded("bulk.probed.connections", asked.connections, ROWS);
    requireBounded("bulk.probed.turns", asked.turns, ROWS);

    let id = "";
    const again = await outside.during(async () => {
      id = await job(team);
    });
    requireBounded("bulk.cached.redis.entries", again.redis.entries, ROWS, again.elapsedS);
    requireBounded("bulk.cached.objects", again.objects.requests, CHUNKS);
    requireBounded("bulk.cached.rcpt", mail.take().commands.RCPT ?? 0, ROWS);
    const results = await resultsText(api, team.liveKey, id, "?format=jsonl");
    requireBounded("bulk.results.bytes", Buffer.byteLength(results), ROWS);
  });
});
