import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createJobObjects, sourceKey } from "../../../src/features/bulk/results/job-objects.ts";
import { newId } from "../../../src/platform/ids.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { createObjectStore } from "../../../src/stores/objects/objects.ts";
import { ended, resultsText } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { inlineJob, queueChunks } from "../../support/bulk-tasks.ts";
import { requireBounded } from "../../support/counted.ts";
import { type CountingMail, createCountingMail } from "../../support/counting-mail.ts";
import { createOutside, type Outside } from "../../support/outside-counts.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

const ROWS = 5_000;
const CHUNKS = 5;
const DOMAINS = 20;
const LARGE = LIMITS.bulk.rowsPerLargeChunk;

const addressOf = (_: unknown, i: number) => `exists-row${i}@d${i % DOMAINS}.count.test`;

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
      // A row that finds its site full, as on a slow machine, is retried soon.
      ...{ DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "8" },
      ...{ DNS_SERVERS: mail.dnsServer, SMTP_PORT: String(mail.smtpPort) },
    };
    // The API talks to Redis directly: its own polls would be counted too. Only the worker talks through the counters.
    api = await deployment.startApi({ ...settings, REDIS_URL: outside.settings.REDIS_URL ?? "" });
    closing.after(() => api.stop());
    const worker = await deployment.startBulk({ ...settings, ...outside.settings });
    closing.after(() => worker.stop());
    // The relay returns deferred rows to the worker; its own commands are not counted.
    const relay = await deployment.startRelay({ REDIS_URL: outside.settings.REDIS_URL ?? "" });
    closing.after(() => relay.stop());
  });
  after(() => closing.close());

  /** A job from its upload to its end. */
  async function job(team: Team): Promise<string> {
    const addresses = Array.from({ length: ROWS }, addressOf);
    const upload_id = await uploaded(api, team.liveKey, `email\n${addresses.join("\n")}\n`);
    const { status, body } = await submitAs(api, team.liveKey, { upload_id });
    assert.equal(status, 202, JSON.stringify(body));
    const over = await ended(api, team.liveKey, body.id, 300_000);
    assert.deepEqual([over.status, over.rows.processed], ["completed", ROWS]);
    return body.id;
  }

  /** A job of one chunk as those of long lists are, queued as an analysis does, to its end. */
  async function largeChunk(team: Team, withEvidence: boolean): Promise<string> {
    const {
      S3_ENDPOINT: endpoint = "",
      S3_BUCKET: bucket = "",
      S3_REGION: region = "",
    } = deployment.settings;
    const { S3_ACCESS_KEY_ID: accessKeyId = "", S3_SECRET_ACCESS_KEY: secretAccessKey = "" } =
      deployment.settings;
    const settings = { endpoint, publicEndpoint: endpoint, region, bucket };
    const store = createObjectStore(
      { ...settings, credentials: { accessKeyId, secretAccessKey } },
      systemClock,
    );
    const id = newId("job");
    const content = Buffer.from(`${Array.from({ length: LARGE }, addressOf).join("\n")}\n`);
    await createJobObjects(store).put(sourceKey(team.id, id), content, "text/csv");
    store.stop();
    const chunk = { firstRow: 0, rows: LARGE, firstByte: 0, bytes: content.length };
    const found = { rows: LARGE, duplicates: 0, malformed: 0 };
    const terms = { ...inlineJob(team.id, id), withEvidence };
    await queueChunks(deployment.sql, terms, [{ ...chunk, repeatsByte: 0, repeatsBytes: 0 }], found);
    const over = await ended(api, team.liveKey, id, 300_000);
    assert.deepEqual([over.status, over.rows.processed], ["completed", LARGE]);
    return id;
  }

  it("is a few calls a chunk where no row is probed", async () => {
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

  it("is as little in the chunks of long lists, and with evidence no more than its text", async () => {
    const team = await deployment.team("enterprise");
    // Rows that wait for a full site get shards of their own; here no row waits, since all are known.
    await largeChunk(team, false);
    const plain = await outside.during(async () => void (await largeChunk(team, false)));
    requireBounded("bulk.large.shard.bytes", plain.objects.shardBytes, LARGE);
    requireBounded("bulk.large.objects", plain.objects.requests, 1);
    let id = "";
    const full = await outside.during(async () => {
      id = await largeChunk(team, true);
    });
    requireBounded("bulk.evidence.shard.bytes", full.objects.shardBytes, LARGE);
    requireBounded("bulk.large.objects", full.objects.requests, 1);
    const results = await resultsText(api, team.liveKey, id, "?format=jsonl");
    assert.equal(results.split('"enhanced_code":"2.1.5"').length - 1, 2 * LARGE, "checks and evidence");
    mail.take();
  });
});
