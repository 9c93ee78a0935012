import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createPromotion } from "../../../src/features/overrides/promotion.ts";
import { runOverrides } from "../../../src/operator/overrides.ts";
import { compileLists, openLists } from "../../../src/verification/lists/lists.ts";
import { capturePrinted } from "../../support/printed.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/**
 * A domain that the operator promotes applies to every team in every process, with or without Redis; one that only a
 * team has submitted never does.
 */
const closing = createClosing();
const lists = openLists(compileLists());
let deployment: TestDeployment;
let redisGate: TcpGate;
let settings: Record<string, string>;
let apis: TestApi[];

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const { REDIS_URL } = deployment.settings;
  redisGate = await createTcpGate(REDIS_URL);
  closing.after(() => redisGate.close());
  settings = { REDIS_URL: throughGate(REDIS_URL, redisGate) };
  apis = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
  closing.after(() => Promise.all(apis.map((api) => api.stop())).then(() => undefined));
});
after(closing.close);

beforeEach(async () => {
  redisGate.open();
  for (const api of apis)
    await until("the process is ready", async () => (await api.get("/readyz")).body.status === "ready");
});

/** The operator's command on the deployment's database. */
async function operator(...argv: string[]) {
  const { printed, ...output } = capturePrinted();
  const code = await runOverrides({
    argv,
    withPromotion: (work) => work(createPromotion({ sql: deployment.sql, lists })),
    ...output,
  });
  return { code, ...printed };
}

function place(domain: string): string {
  deployment.world.dns.set(domain, { mx: [[10, "mx.plain.test"]] });
  return domain;
}

const OVERRIDDEN = "disposable_domain override";
const VALID = "accepted_mailbox none";

async function verdict(api: TestApi, key: string, address: string): Promise<string> {
  const { body } = await api.verify(key, address);
  return `${body.reason} ${body.checks.disposable.source}`;
}

async function assertEverywhere(key: string, address: string, expected: string): Promise<void> {
  for (const api of apis) assert.equal(await verdict(api, key, address), expected, address);
}

/** Resolves once every process answers so: within a second or so, however long a loaded machine makes of it. */
async function becomesEverywhere(key: string, address: string, expected: string): Promise<void> {
  for (const api of apis)
    await until(`${address} is ${expected}`, async () => (await verdict(api, key, address)) === expected);
}

async function submitAndMerge(team: Team, domains: string[]): Promise<void> {
  const sent = { key: team.session, body: { domains } };
  assert.equal((await apis[0]?.send("POST", "/v1/admin/disposable", sent))?.status, 201);
  const relay = await deployment.startRelay();
  await until("all is merged", async () => {
    const [row] = await deployment.sql`
      select from disposable_overrides where team_id = ${team.id} and status = 'pending'`;
    return row === undefined;
  });
  await relay.stop();
  const mergedMs = performance.now();
  await until("a second has passed", () => performance.now() > mergedMs + LIMITS.keys.confirmMs || null);
}

describe("a promoted domain", () => {
  for (const [weather, makeWeather] of [
    ["with Redis up", () => undefined],
    ["with Redis cut", () => redisGate.shut()],
    ["with Redis silent", () => redisGate.stall()],
  ] as const) {
    it(`is disposable for every team in every process, until it is demoted, ${weather}`, async () => {
      const domain = place(`promoted-${weather.replaceAll(" ", "-").toLowerCase()}.test`);
      const teams = [await deployment.team("enterprise"), await deployment.team("pro_plus")];
      for (const { liveKey } of teams) await assertEverywhere(liveKey, `exists@${domain}`, VALID);
      makeWeather();
      assert.deepEqual(await operator("promote", domain.toUpperCase()), {
        code: 0,
        stdout: `${domain} promoted\n`,
        stderr: "",
      });
      await becomesEverywhere(teams[0]?.testKey ?? "", `valid@${domain}`, OVERRIDDEN);
      for (const { liveKey, testKey } of teams) {
        for (const address of [`exists@${domain}`, `exists@a.b.${domain}`]) {
          place(`a.b.${domain}`);
          await assertEverywhere(liveKey, address, OVERRIDDEN);
        }
        await assertEverywhere(testKey, `valid@${domain}`, OVERRIDDEN);
      }
      assert.equal((await operator("promote", domain)).stdout, `${domain} was promoted already\n`);
      assert.equal((await operator("demote", domain)).stdout, `${domain} demoted\n`);
      await becomesEverywhere(teams[0]?.testKey ?? "", `valid@${domain}`, VALID);
      for (const { liveKey } of teams) await assertEverywhere(liveKey, `exists@${domain}`, VALID);
      assert.deepEqual(await operator("demote", domain), {
        code: 1,
        stdout: "",
        stderr: `overrides: ${domain} is not promoted\noverrides: nothing was changed\n`,
      });
    });
  }

  it("is known to a process that starts later, from its first request", async () => {
    const domain = place("promoted-early.test");
    const team = await deployment.team("enterprise");
    await operator("promote", domain);
    const late = await deployment.startApi(settings);
    assert.equal(await verdict(late, team.liveKey, `exists@${domain}`), OVERRIDDEN);
    await late.stop();
    await operator("demote", domain);
  });

  it("is asked of no mail server", async () => {
    const domain = place("promoted-quiet.test");
    const team = await deployment.team("enterprise");
    await operator("promote", domain);
    await becomesEverywhere(team.testKey, `valid@${domain}`, OVERRIDDEN);
    deployment.world.resetCounters();
    await assertEverywhere(team.liveKey, `exists@${domain}`, OVERRIDDEN);
    const { accepted, rejected } = deployment.world.host("mx.plain.test").account;
    assert.equal(accepted + rejected, 0);
    await operator("demote", domain);
  });

  it("is shown to the operator before and after", async () => {
    const [domain, gmail] = ["candidate.test", "gmail.com"];
    for (let i = 0; i < 2; i++) await submitAndMerge(await deployment.team("enterprise"), [domain]);
    await submitAndMerge(await deployment.team("enterprise"), [gmail]);
    const before = await operator("list", "--pending-promotion");
    assert.ok(before.stdout.includes(`${domain}\t2 teams\n`), before.stdout);
    assert.match(before.stdout, /^gmail\.com\t1 team\twould be refused: /m);
    await operator("promote", domain);
    assert.ok(!(await operator("list", "--pending-promotion")).stdout.includes(domain));
    assert.equal((await operator("list")).stdout, `${domain}\n`);
    await operator("demote", domain);
    assert.equal((await operator("list")).stdout, "");
  });
});

describe("a free-mail domain that another team submits", () => {
  it("changes no other team's verdict, pending or merged, cached or not, in either process", async () => {
    const gmail = place("gmail.com");
    const [stranger, other] = [await deployment.team("enterprise"), await deployment.team("enterprise")];
    const untouched = async (when: string) => {
      // Known to the cache since before, and never asked about.
      await assertEverywhere(other.liveKey, `exists@${gmail}`, VALID);
      await assertEverywhere(other.liveKey, `exists-${when}@${gmail}`, VALID);
    };
    await untouched("before");
    const sent = { key: stranger.session, body: { domains: [gmail] } };
    assert.equal((await apis[0]?.send("POST", "/v1/admin/disposable", sent))?.status, 201);
    await untouched("pending");
    await submitAndMerge(stranger, [gmail]);
    await assertEverywhere(stranger.liveKey, `exists@${gmail}`, OVERRIDDEN);
    await untouched("merged");
    const refused = await operator("promote", "promotable.test", gmail);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, /^overrides: gmail\.com is a mailbox provider's[^\n]*\noverrides: nothing/);
    assert.equal((await operator("list")).stdout, "");
    // If the refused command had left a change behind, the processes would have read it with this one.
    await operator("promote", "marker.test");
    await becomesEverywhere(other.testKey, "valid@marker.test", OVERRIDDEN);
    await untouched("refused");
    await operator("demote", "marker.test");
  });

  it("is spared even if it got into the table by hand", async () => {
    const gmail = place("gmail.com");
    const team = await deployment.team("enterprise");
    await deployment.sql`insert into promoted_disposables (domain) values (${gmail}), ('com'), ('marker.test')`;
    await becomesEverywhere(team.testKey, "valid@marker.test", OVERRIDDEN);
    await assertEverywhere(team.liveKey, `exists@${gmail}`, VALID);
    await deployment.sql`delete from promoted_disposables`;
  });
});
