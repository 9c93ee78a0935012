import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import * as v from "valibot";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { Override, OverrideSubmission } from "../../../src/features/overrides/overrides.ts";
import { ContractProblem } from "../../support/contract.ts";
import { waitForPostgres } from "../../support/limits.ts";
import {
  type Answer,
  createDeployment,
  type Team,
  type TestApi,
  type TestDeployment,
} from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/**
 * Domains that an owner declares disposable, from the submission to the verdicts, for their team alone; two processes,
 * a relay.
 */
const closing = createClosing();
let deployment: TestDeployment;
let apis: [TestApi, TestApi];

before(async () => {
  waitForPostgres(closing);
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  apis = await Promise.all([deployment.startApi(), deployment.startApi()]);
});
after(closing.close);
beforeEach(() => deployment.world.resetCounters());

const PATH = "/v1/admin/disposable";

let fresh = 0;
/** A new domain behind the well-behaved host. */
function newDomain(): string {
  const domain = `throwaway${fresh++}.test`;
  deployment.world.dns.set(domain, { mx: [[10, "mx.plain.test"]] });
  return domain;
}

function submit(team: Team, domains: unknown, api = apis[0]) {
  return api.send<OverrideSubmission>("POST", PATH, { key: team.session, body: { domains } });
}

async function pendingOf(team: Team, api = apis[1]): Promise<unknown> {
  return (await api.send("GET", `${PATH}/pending`, { key: team.session })).body.pending;
}

/** Has a relay merge all that the team has submitted, and gives it the second in which every process must know. */
async function merge(team: Team): Promise<void> {
  const relay = await deployment.startRelay();
  await until("all is merged", async () => (await pendingOf(team)) === 0);
  const mergedMs = performance.now();
  await relay.stop();
  await until("a second has passed", () => performance.now() > mergedMs + LIMITS.keys.confirmMs || null);
}

const rcpts = () => {
  const { accepted, rejected } = deployment.world.host("mx.plain.test").account;
  return accepted + rejected;
};

const disposable = ({ body }: Answer) => [body.reason, body.checks.disposable.source];
const OVERRIDDEN = ["disposable_domain", "override"];
const VALID = ["accepted_mailbox", "none"];

async function assertAll(team: Team, address: string, expected: unknown): Promise<void> {
  for (const api of apis) assert.deepEqual(disposable(await api.verify(team.liveKey, address)), expected);
}

describe("an override", () => {
  it("waits, is merged, changes the team's verdicts without a restart, and is taken back", async () => {
    const [team, other] = [await deployment.team("enterprise"), await deployment.team("enterprise")];
    const domain = newDomain();
    for (const each of [team, other]) await assertAll(each, `exists@${domain}`, VALID);

    const { status, body } = await submit(team, [domain.toUpperCase(), `${domain}.`]);
    assert.equal(status, 201);
    assert.deepEqual([body.accepted, body.duplicates, body.data.length], [1, 1, 1]);
    assert.deepEqual(
      [body.data[0]?.domain, body.data[0]?.status, body.data[0]?.source],
      [domain, "pending", null],
    );
    assert.deepEqual([await pendingOf(team), await pendingOf(other)], [1, 0]);
    await assertAll(team, `exists@${domain}`, VALID);

    await merge(team);
    const list = await apis[1].send<{ data: Override[] }>("GET", PATH, { key: team.session });
    assert.deepEqual(
      list.body.data.map((entry) => [entry.domain, entry.status, entry.source]),
      [[domain, "merged", "override"]],
    );
    assert.ok(Date.parse(String(list.body.data[0]?.merged_at)) > 0);
    const asked = rcpts();
    for (const address of [`exists@${domain}`, `new@${domain}`, `exists@below.${domain}`]) {
      deployment.world.dns.set(`below.${domain}`, { mx: [[10, "mx.plain.test"]] });
      await assertAll(team, address, OVERRIDDEN);
    }
    assert.equal(rcpts(), asked);
    await assertAll(other, `exists@${domain}`, VALID);
    await assertAll(other, `exists-uncached@${domain}`, VALID);

    const gone = await apis[0].send("DELETE", `${PATH}/${domain}`, { key: team.session });
    assert.equal(gone.status, 204);
    assert.deepEqual(disposable(await apis[0].verify(team.liveKey, `exists@${domain}`)), VALID);
    const removedMs = performance.now();
    await until("a second has passed", () => performance.now() > removedMs + LIMITS.keys.confirmMs || null);
    await assertAll(team, `exists@${domain}`, VALID);
    assert.equal((await apis[0].send("DELETE", `${PATH}/${domain}`, { key: team.session })).status, 404);
  });

  it("notifies the team's webhooks of the merge, once", async () => {
    const team = await deployment.team("enterprise");
    await submit(team, ["b.test", "a.test"]);
    await merge(team);
    const events = await deployment.sql<{ type: string; data: { count: number; domains: string[] } }[]>`
      select type, data from events where team_id = ${team.id}`;
    assert.equal(events.length, 1);
    assert.deepEqual([events[0]?.type, events[0]?.data.count], ["disposable.merged", 2]);
    assert.deepEqual(events[0]?.data.domains.sort(), ["a.test", "b.test"]);
  });

  it("stands in its row of the table: behind the blocklist and the DNS", async () => {
    const team = await deployment.team("enterprise");
    const blocked = newDomain();
    const dead = ["nobody-has-this.test", "nullmx.test"] as const;
    await deployment.sql`insert into blocklist (team_id, domain) values (${team.id}, ${blocked})`;
    await submit(team, [blocked, ...dead]);
    await merge(team);
    await assertAll(team, `exists@${blocked}`, ["blocklisted_domain", "override"]);
    await assertAll(team, `exists@${dead[0]}`, ["domain_not_found", "override"]);
    await assertAll(team, `exists@${dead[1]}`, ["null_mx", "override"]);
    assert.equal(rcpts(), 0);
  });

  it("is in no other team's answer though both come from the same cached evidence", async () => {
    const [team, other] = [await deployment.team("starter"), await deployment.team("starter")];
    deployment.world.dns.set("kept.test", { mx: [[0, "."]] });
    await submit(team, ["kept.test"]);
    await merge(team);
    for (const api of apis) {
      for (let round = 0; round < 3; round++) {
        for (const [asking, source] of [
          [team, "override"],
          [other, "none"],
        ] as const) {
          const { body } = await api.verify(asking.liveKey, "exists@kept.test");
          assert.deepEqual([body.reason, body.checks.disposable.source], ["null_mx", source]);
          assert.equal(body.checks.reputation.signals.includes("disposable_domain"), source === "override");
          assert.equal(body.cache_ttl_seconds > 0, true);
          if (round > 0) assert.equal(body.cached, true);
        }
      }
    }
  });

  it("costs as any answer does, and counts for test keys", async () => {
    const team = await deployment.team("enterprise", { dailyQuota: 1 });
    const domain = newDomain();
    await submit(team, [domain]);
    await merge(team);
    assert.deepEqual(disposable(await apis[0].verify(team.testKey, `valid@${domain}`)), OVERRIDDEN);
    assert.deepEqual(disposable(await apis[0].verify(team.liveKey, `exists@${domain}`)), OVERRIDDEN);
    assert.equal((await apis[0].verify(team.liveKey, `exists@${domain}`)).body.code, "quota_exceeded");
  });
});

describe("what is no submission", () => {
  const bodies: [string, unknown, string][] = [
    ["no domains", {}, "domains"],
    ["an empty list", { domains: [] }, "domains"],
    ["501 domains", { domains: Array.from({ length: 501 }, (_, i) => `d${i}.test`) }, "domains"],
    ["no list", { domains: "a.test" }, "domains"],
    ["a list in a list", { domains: ["a.test", ["b.test"]] }, "domains.1"],
    ["an empty domain", { domains: ["a.test", ""] }, "domains.1"],
    ["254 characters", { domains: [`${"a.".repeat(125)}test`] }, "domains.0"],
    ["no domain", { domains: ["a.test", "b.test", "c.test", "not a domain"] }, "domains.3"],
    ["null", { domains: [null] }, "domains.0"],
    ["a control character", { domains: ["a\u0000.test"] }, "domains.0"],
    ["a lone surrogate", '{"domains": ["\\ud800.test"]}', "domains.0"],
    ["an unknown field", { domains: ["a.test"], domain: "b.test" }, "domain"],
  ];
  for (const [what, body, path] of bodies) {
    it(`${what}: 400 at ${path}`, async () => {
      const team = await deployment.team("enterprise");
      const reply = await apis[0].send("POST", PATH, { key: team.session, body });
      assert.deepEqual([reply.status, reply.body.code], [400, "validation_failed"]);
      v.assert(ContractProblem, reply.body);
      const errors = reply.body.errors as { path: string }[];
      assert.deepEqual(
        errors.map((error) => error.path),
        [path],
      );
      assert.equal(await pendingOf(team), 0);
    });
  }

  it("500 domains of up to 253 characters are one", async () => {
    const team = await deployment.team("enterprise");
    const long = [63, 63, 63, 56].map((n) => "a".repeat(n)).join(".");
    const domains = [`${long}.test`, ...Array.from({ length: 499 }, (_, i) => `d${i}.test`)];
    assert.equal(domains[0]?.length, 253);
    const { status, body } = await submit(team, domains);
    assert.deepEqual([status, body.accepted], [201, 500]);
  });

  it("twenty submissions of the same domains through two processes store each once", async () => {
    const team = await deployment.team("enterprise");
    const domains = Array.from({ length: 30 }, (_, i) => `race${i}.test`);
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => submit(team, domains, apis[i % 2 === 0 ? 0 : 1])),
    );
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]));
    assert.equal(
      replies.reduce((sum, { body }) => sum + body.accepted, 0),
      30,
    );
    assert.equal(await pendingOf(team), 30);
  });
});
