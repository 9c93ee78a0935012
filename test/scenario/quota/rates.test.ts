import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TIER_LIMITS } from "../../../src/config/tiers.ts";
import { tally } from "../../support/load.ts";
import { limitFields } from "../../support/rate-fields.ts";
import type { Response, TestApi } from "../../support/service.ts";
import { newAddress, useTwoApis } from "../../support/two-apis.ts";
import { until } from "../../support/until.ts";

/** The rates of all that a team asks for besides verifications, over two processes. */
const apis = useTwoApis();

const READS = ["/v1/team", "/v1/usage", "/v1/keys", "/v1/blocklist", "/v1/bulk-jobs", "/v1/auth/me"];

interface Bucket {
  name: "read" | "write";
  ratePerS: number;
  burst: number;
}

/** Each process has looked the key up: on a busy machine that may take longer than a request waits for it. */
async function known(key: string): Promise<void> {
  for (const api of [apis.one, apis.two])
    await until("the key is known", async () => (await api.verify(key, "nobody")).status === 200);
}

/** Sends all at once, and requires that what passed is within the bucket's rate. */
async function requireLimited(
  { name, ratePerS, burst }: Bucket,
  sent: () => Promise<Response>[],
): Promise<void> {
  const beganMs = performance.now();
  const answers = await Promise.all(sent());
  const most = burst + (ratePerS * (performance.now() - beganMs)) / 1_000;
  // On a busy machine some keys may not be found in time: those answers have no limit, and took no token.
  const asked = answers.filter(
    ({ headers, body }) => headers.has("ratelimit") || body.code !== "unavailable",
  );
  const refused = asked.filter(({ status }) => status === 429);
  const passed = asked.length - refused.length;
  const seen = tally(answers.map(({ status, body }) => ({ status, code: String(body?.code ?? "") })));
  assert.ok(
    passed >= burst - (answers.length - asked.length) && passed <= most,
    `${JSON.stringify(seen)}: ${burst} to ${most}`,
  );
  for (const { headers, body, status } of asked) {
    if (status !== 429 && body?.code !== "unavailable") assert.equal(status, 200, JSON.stringify(body));
    const fields = limitFields(headers);
    assert.deepEqual(Object.keys(fields), [name]);
    assert.deepEqual([fields[name]?.q, fields[name]?.w], [burst, Math.ceil(burst / ratePerS)]);
  }
  for (const { headers, body } of refused) {
    assert.equal(body.code, "rate_limited");
    assert.match(String(body.detail), new RegExp(`The rate of ${ratePerS} ${name}s a second`));
    assert.equal(headers.get("retry-after"), "1");
    assert.ok((limitFields(headers)[name]?.r ?? Infinity) <= 1 + ratePerS / 10);
  }
}

/** So slow that few tokens are added while a busy machine sends the storm. */
const SLOW = { readsPerS: 2, readsBurst: 20, writesPerS: 1, writesBurst: 10 };
const reads: Bucket = { name: "read", ratePerS: SLOW.readsPerS, burst: SLOW.readsBurst };
const writes: Bucket = { name: "write", ratePerS: SLOW.writesPerS, burst: SLOW.writesBurst };
const STORM = 80;

const turn = (i: number) => (i % 2 === 0 ? apis.one : apis.two);
const renamed = (api: TestApi, key: string, i: number) =>
  api.send("PATCH", "/v1/team", { key, body: { name: `Team ${i}` } });

/** Both answers, of a new team whose buckets got no token back between them. */
async function withinASecond(
  requests: (key: string) => [() => Promise<Response>, () => Promise<Response>],
): Promise<[Response, Response]> {
  return until("both were answered within a second", async () => {
    const { session } = await apis.deployment.team("enterprise", {
      ...{ readsPerS: 1, readsBurst: 3, writesPerS: 1, writesBurst: 4 },
    });
    const [first, second] = requests(session);
    const beganMs = performance.now();
    const answers: [Response, Response] = [await first(), await second()];
    return performance.now() - beganMs < 1_000 && answers;
  });
}

describe("one key that asks as fast as it can", () => {
  it("reads no more than its rate, whatever it reads, and verifies and writes all the same", async () => {
    const { session } = await apis.deployment.team("free", SLOW);
    const { liveKey } = await apis.deployment.team("free", SLOW);
    for (const key of [session, liveKey]) {
      await known(key);
      await requireLimited(reads, () =>
        Array.from({ length: STORM }, (_, i) => turn(i).send("GET", READS[i % READS.length] ?? "", { key })),
      );
      const verified = await apis.one.verify(key, newAddress());
      assert.deepEqual(
        [verified.status, Object.keys(limitFields(verified.headers))],
        [200, ["rate", "quota"]],
      );
      assert.equal((await renamed(apis.one, key, 0)).status, 200);
    }
  });

  it("changes no more than its rate, and reads all the same", async () => {
    const { session: key } = await apis.deployment.team("free", SLOW);
    await known(key);
    await requireLimited(writes, () => Array.from({ length: STORM }, (_, i) => renamed(turn(i), key, i)));
    assert.equal((await apis.one.send("GET", "/v1/team", { key })).status, 200);
  });

  it("reports its tier's rates, and the daily quota only where it applies", async () => {
    const { session: key } = await apis.deployment.team("free");
    const { readsPerS, readsBurst, writesPerS, writesBurst, rateBurst, dailyQuota } = TIER_LIMITS.free;
    const limits = async (answer: Promise<Response>) =>
      Object.entries(limitFields((await answer).headers)).map(([name, { q, w }]) => [name, q, w]);
    assert.deepEqual(await limits(apis.one.send("GET", "/v1/usage", { key })), [
      ["read", readsBurst, readsBurst / readsPerS],
    ]);
    assert.deepEqual(await limits(renamed(apis.one, key, 0)), [
      ["write", writesBurst, writesBurst / writesPerS],
    ]);
    assert.deepEqual(await limits(apis.one.send("GET", "/v1/verify?email=nobody", { key })), [
      ["rate", rateBurst, 5],
      ["quota", dailyQuota, 86_400],
    ]);
  });

  it("takes of the rate by HEAD, by what it is refused for, and by replays", async () => {
    const left = ({ headers }: Response, name: string) => limitFields(headers)[name]?.r;
    const [head, missing] = await withinASecond((key) => [
      () => apis.one.send("HEAD", "/v1/team", { key }),
      () => apis.one.send("GET", "/v1/bulk-jobs/job_none", { key }),
    ]);
    assert.deepEqual([left(head, "read"), left(missing, "read")], [2, 1]);
    const [blocked, again] = await withinASecond((key) => {
      const sent = { key, body: { domain: "blocked.test" }, headers: { "Idempotency-Key": "one" } };
      const block = () => apis.one.send("POST", "/v1/blocklist", sent);
      return [block, block];
    });
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.deepEqual([left(blocked, "write"), left(again, "write")], [3, 2]);
  });

  for (const [weather, makeWeather] of apis.weather.slice(1, 3))
    it(`is limited by each process alone ${weather}`, async () => {
      const { session: key } = await apis.deployment.team("free", SLOW);
      await known(key);
      await makeWeather();
      for (const api of [apis.one, apis.two])
        await requireLimited(reads, () =>
          Array.from({ length: STORM }, () => api.send("GET", "/v1/team", { key })),
        );
    });
});
