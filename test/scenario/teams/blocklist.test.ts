import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { ContractProblem } from "../../support/contract.ts";
import type { Response, TestApi } from "../../support/service.ts";
import { useTwoApis } from "../../support/two-apis.ts";
import { until } from "../../support/until.ts";

/** Domains that a team has blocked, over two processes: one list, in force everywhere, for that team alone. */
const apis = useTwoApis();

interface Entry {
  domain: string;
  include_subdomains: boolean;
  created_at: string;
}
interface List {
  data: Entry[];
  next_cursor: string | null;
}
type Problem = { code: string; errors?: { path: string }[] };

const block = (api: TestApi, key: string, body: unknown) =>
  api.send<Entry & Problem>("POST", "/v1/blocklist", { key, body });
const unblock = (api: TestApi, key: string, domain: string) =>
  api.send<Problem | null>("DELETE", `/v1/blocklist/${encodeURIComponent(domain)}`, { key });
const list = async (api: TestApi, key: string, query = "") =>
  (await api.send<List>("GET", `/v1/blocklist${query}`, { key })).body;
const domainsOf = ({ data }: List) => data.map(({ domain }) => domain);

function assertProblem(answer: Response<unknown>, status: number, code: string): void {
  v.assert(ContractProblem, answer.body);
  assert.deepEqual([answer.status, answer.body.code], [status, code]);
}

/** Whether the answer for an address of the domain is `blocklisted_domain`. */
async function isBlocked(api: TestApi, key: string, domain: string): Promise<boolean> {
  const { body } = await api.verify(key, `exists@${domain}`);
  if (body.reason !== "blocklisted_domain") return false;
  assert.deepEqual([body.verdict, body.risk_score, body.cached], ["risky", 79, false]);
  return true;
}

describe("the blocklist", () => {
  it("is added to, listed by domain and page by page, and taken from", async () => {
    const team = await apis.deployment.team("enterprise");
    const added = await block(apis.one, team.session, { domain: "plain.test" });
    assert.equal(added.status, 201);
    assert.deepEqual(
      { ...added.body, created_at: "" },
      { domain: "plain.test", include_subdomains: true, created_at: "" },
    );
    assert.equal(new Date(added.body.created_at).toISOString(), added.body.created_at);
    await block(apis.two, team.session, { domain: "zz.example", include_subdomains: false });
    await block(apis.two, team.session, { domain: "aa.example" });
    const all = await list(apis.one, team.liveKey);
    assert.deepEqual([domainsOf(all), all.next_cursor], [["aa.example", "plain.test", "zz.example"], null]);
    assert.deepEqual(all.data[1], added.body);
    const first = await list(apis.one, team.liveKey, "?limit=2");
    const second = await list(apis.one, team.liveKey, `?limit=2&cursor=${first.next_cursor}`);
    assert.deepEqual(
      [...domainsOf(first), ...domainsOf(second), second.next_cursor],
      [...domainsOf(all), null],
    );
    const gone = await unblock(apis.one, team.session, "plain.test");
    assert.deepEqual([gone.status, gone.body], [204, null]);
    assertProblem(await unblock(apis.one, team.session, "plain.test"), 404, "not_found");
    assert.deepEqual(domainsOf(await list(apis.two, team.liveKey)), ["aa.example", "zz.example"]);
  });

  it("takes a domain blocked fifty times at once on two processes exactly once", async () => {
    const team = await apis.deployment.team("enterprise");
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        block(i % 2 === 0 ? apis.one : apis.two, team.session, {
          domain: i % 3 === 0 ? "Race.Example." : "race.example",
        }),
      ),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, 1);
    for (const answer of answers) if (answer.status !== 201) assertProblem(answer, 409, "already_blocked");
    assert.deepEqual((await list(apis.one, team.session)).data, [made[0]?.body]);
  });

  it("has its bound of entries and not one more, with simultaneous requests", async () => {
    const team = await apis.deployment.team("enterprise");
    const max = LIMITS.keys.blocklistEntriesPerTeam;
    await apis.deployment.sql`
      insert into blocklist (team_id, domain) select ${team.id}, 'd' || n || '.example' from generate_series(1, ${max - 3}::integer) n`;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        block(i % 2 === 0 ? apis.one : apis.two, team.session, { domain: `new${i}.example` }),
      ),
    );
    const full = answers.filter(({ status }) => status !== 201);
    assert.equal(answers.length - full.length, 3);
    for (const answer of full) assertProblem(answer, 409, "limit_reached");
    assertProblem(await block(apis.one, team.session, { domain: "d1.example" }), 409, "already_blocked");
    await unblock(apis.one, team.session, "d1.example");
    assert.equal((await block(apis.two, team.session, { domain: "d1.example" })).status, 201);
  });

  it("means the same domain however it is written", async () => {
    const team = await apis.deployment.team("enterprise");
    const aLabel = "xn--mnchen-3ya.example";
    for (const [written, unwritten] of [
      ["münchen.example", aLabel],
      [aLabel, "MÜNCHEN.example."],
      [" München.EXAMPLE. ", "mu\u0308nchen.example"],
    ] as const) {
      const { status, body } = await block(apis.one, team.session, { domain: written });
      assert.deepEqual([status, body.domain], [201, aLabel]);
      assertProblem(await block(apis.two, team.session, { domain: unwritten }), 409, "already_blocked");
      assert.ok(await isBlocked(apis.one, team.liveKey, "münchen.example"));
      assert.ok(await isBlocked(apis.one, team.liveKey, `mail.${aLabel}`));
      assert.equal((await unblock(apis.two, team.session, unwritten)).status, 204);
    }
    assert.deepEqual((await list(apis.one, team.session)).data, []);
  });

  it("covers the domains below one, or not, and never those beside or above", async () => {
    const team = await apis.deployment.team("enterprise");
    await block(apis.one, team.session, { domain: "plain.test" });
    await block(apis.one, team.session, { domain: "lockstep.test", include_subdomains: false });
    for (const [domain, expected] of [
      ["plain.test", true],
      ["a.b.plain.test", true],
      ["explain.test", false],
      ["lockstep.test", true],
      ["a.lockstep.test", false],
      ["multiline.test", false],
    ] as const)
      assert.equal(await isBlocked(apis.one, team.liveKey, domain), expected, domain);
    const asTest = await apis.one.verify(team.testKey, "valid@plain.test");
    assert.equal(asTest.body.reason, "blocklisted_domain");
  });

  it("is each team's own: another's verdicts and list stay as they were", async () => {
    const [a, b] = await Promise.all([
      apis.deployment.team("enterprise"),
      apis.deployment.team("enterprise"),
    ]);
    await block(apis.one, a.session, { domain: "plain.test" });
    assert.equal(await isBlocked(apis.one, b.liveKey, "plain.test"), false);
    assert.equal((await block(apis.one, b.session, { domain: "plain.test" })).status, 201);
    assert.equal((await unblock(apis.one, b.session, "plain.test")).status, 204);
    assert.deepEqual(domainsOf(await list(apis.one, a.session)), ["plain.test"]);
  });

  for (const [weather, makeWeather] of apis.weather.slice(0, 3)) {
    it(`is in force at once where it was changed and within a second elsewhere, ${weather}`, async () => {
      const team = await apis.deployment.team("enterprise");
      for (const api of [apis.one, apis.two])
        assert.equal(await isBlocked(api, team.liveKey, "plain.test"), false);
      await makeWeather();
      assert.equal((await block(apis.one, team.session, { domain: "plain.test" })).status, 201);
      const blockedMs = performance.now();
      assert.ok(await isBlocked(apis.one, team.liveKey, "plain.test"));
      // A question put a second later is answered by the new list, however long the answer takes.
      await until("the second is over", () => performance.now() - blockedMs >= LIMITS.keys.confirmMs);
      assert.ok(await isBlocked(apis.two, team.liveKey, "plain.test"));
      assert.equal((await unblock(apis.two, team.session, "plain.test")).status, 204);
      assert.equal(await isBlocked(apis.two, team.liveKey, "plain.test"), false);
      const freedMs = performance.now();
      await until("the second is over", () => performance.now() - freedMs >= LIMITS.keys.confirmMs);
      assert.equal(await isBlocked(apis.one, team.liveKey, "plain.test"), false);
    });
  }
});

describe("what is no domain", () => {
  const NONE = [
    "com",
    "com.",
    "127.0.0.1",
    "[::1]",
    "2130706433",
    "a@b.example",
    "http://a.example",
    "*.a.example",
  ];

  it("is refused by the name of its field", async () => {
    const team = await apis.deployment.team("enterprise");
    for (const domain of [...NONE, "", " ", "a".repeat(2_000), 7, null, ["a.example"]]) {
      const answer = await block(apis.one, team.session, { domain });
      assertProblem(answer, 400, "validation_failed");
      assert.deepEqual(
        answer.body.errors?.map(({ path }) => path),
        ["domain"],
        String(domain),
      );
    }
    for (const body of [{}, { domain: "a.example", include_subdomain: true }, [], "plain.test", null]) {
      const { status } = await block(apis.one, team.session, JSON.stringify(body));
      assert.equal(status, 400, JSON.stringify(body));
    }
    for (const domain of NONE) assertProblem(await unblock(apis.one, team.session, domain), 404, "not_found");
    assert.deepEqual((await list(apis.one, team.session)).data, []);
  });
});
