import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { requireBounded } from "../../support/counted.ts";
import { type CountingMail, createCountingMail } from "../../support/counting-mail.ts";
import { createOutside, type Outside } from "../../support/outside-counts.ts";
import { createDeployment, type Team, type TestApi } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const REQUESTS = 1_000;
const ADDRESSES = 200;
const DOMAINS = 20;
const AT_ONCE = 16;

describe("what requests cost beyond the process", () => {
  const closing = createClosing();
  let mail: CountingMail;
  let outside: Outside;
  let api: TestApi;
  let team: Team;

  before(async () => {
    mail = await createCountingMail({ domains: DOMAINS, net: 43, pipelining: true });
    closing.after(() => mail.close());
    const deployment = await createDeployment();
    closing.after(() => deployment.stop());
    outside = await createOutside(deployment);
    closing.after(() => outside.close());
    team = await deployment.team("enterprise", { ratePerS: 10_000, rateBurst: 10_000 });
    api = await deployment.startApi({
      ...{ ...outside.settings, CHECK_THREADS: "1", DNSBL_ZONES: "none" },
      ...{ DNS_SERVERS: mail.dnsServer, SMTP_PORT: String(mail.smtpPort) },
    });
    closing.after(() => api.stop());
    await ask(numbered("known", ADDRESSES));
  });
  after(() => closing.close());

  const numbered = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => `exists-${name}${i}@d${i % DOMAINS}.count.test`);

  /** Asks about all, AT_ONCE at a time; again where Postgres was too slow for a unit of quota. */
  async function ask(addresses: readonly string[]): Promise<void> {
    let next = 0;
    async function caller(): Promise<void> {
      for (let address = addresses[next++]; address !== undefined; address = addresses[next++]) {
        const asked = address;
        const body = await until(`${asked} is answered`, async () => {
          const answer = await api.verify(team.liveKey, asked);
          return answer.status !== 503 && answer;
        });
        assert.deepEqual([body.status, body.body.verdict], [200, "valid"], JSON.stringify(body.body));
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, caller));
  }

  it("is next to nothing where the cache knows", async () => {
    const known = numbered("known", ADDRESSES);
    const addresses = Array.from({ length: REQUESTS }, (_, i) => known[i % ADDRESSES] ?? "");
    const { elapsedS, redis, transactions } = await outside.during(() => ask(addresses));
    requireBounded("cached.redis.scripts", redis.scripts, REQUESTS, elapsedS);
    requireBounded("cached.redis.reads", redis.reads, REQUESTS, elapsedS);
    requireBounded("cached.postgres.transactions", transactions, REQUESTS, elapsedS);
  });

  it("is a look and a write where it does not", async () => {
    const { elapsedS, redis, transactions } = await outside.during(() => ask(numbered("new", REQUESTS)));
    requireBounded("uncached.redis.reads", redis.reads, REQUESTS, elapsedS);
    requireBounded("uncached.redis.scripts", redis.scripts, REQUESTS, elapsedS);
    requireBounded("uncached.redis.entries", redis.entries, REQUESTS, elapsedS);
    requireBounded("uncached.postgres.transactions", transactions, REQUESTS, elapsedS);
    const { client } = outside.redis;
    const keys = await client.keys("rcpt:ev:p:*");
    const bytes = await Promise.all(keys.map((key) => client.strlen(key)));
    const sum = bytes.reduce((all, each) => all + each, 0);
    assert.ok(keys.length >= REQUESTS, `${keys.length} entries`);
    requireBounded("uncached.redis.entry_bytes", sum, keys.length);
  });
});
