import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorsOf } from "../../../src/api/openapi/errors.ts";
import type { CreatedKey } from "../../../src/features/teams/keys.ts";
import { addMember } from "../../support/members.ts";
import { routes } from "../../support/route-table.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** A test key is not kept secret, so it must not do anything lasting, or anything with people or money. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  api = await deployment.startApi();
});
after(closing.close);

async function ask(key: string, method: string, path: string, body?: unknown): Promise<string> {
  const answer = await api.send(method, path, { key, ...(body === undefined ? {} : { body }) });
  return answer.status < 300 ? String(answer.status) : `${answer.status} ${answer.body.code}`;
}

const create = async (key: string, env: string) =>
  (await api.send<CreatedKey>("POST", "/v1/keys", { key, body: { label: "made", env } })).body;

/** Operations of an owner, tried with a key, on a team with another member. */
async function deeds({ id }: Team) {
  const member = await addMember(deployment.sql, id, "member");
  return [
    ["PATCH", `/v1/team/members/${member.id}`, { role: "admin" }],
    ["PATCH", "/v1/team", { name: "Renamed" }],
    ["POST", "/v1/keys", { label: "heir", env: "test" }],
    ["DELETE", "/v1/keys/key_01h455vb4pex5vsknk084sn02v", undefined],
    ["POST", "/v1/blocklist", { domain: "a.example" }],
    ["DELETE", "/v1/blocklist/a.example", undefined],
    ["POST", "/v1/team/webhook-secret", undefined],
    ["POST", "/v1/team/invites", { email: "a@example.com" }],
    ["DELETE", "/v1/team/invites/inv_01h455vb4pex5vsknk084sn02v", undefined],
    ["POST", "/v1/admin/disposable", { domains: ["a.example"] }],
    ["DELETE", "/v1/admin/disposable/a.example", undefined],
    ["POST", "/v1/billing/subscribe", { tier: "pro" }],
    ["POST", "/v1/billing/portal", undefined],
    ["GET", "/v1/deployment", undefined],
    ["POST", "/v1/team/transfer", { user_id: member.id }],
    ["DELETE", `/v1/team/members/${member.id}`, undefined],
    ["DELETE", "/v1/team", undefined],
  ] as const;
}

describe("an owner's test key", () => {
  it("reaches no member and no object of its team, whatever its role", async () => {
    const team = await deployment.team("enterprise");
    const tracesOf = () => deployment.sql`
      select t.name, m.user_id, m.role, (select count(*) from invites) as invites,
             (select count(*) from disposable_overrides) as overrides, (select count(*) from blocklist) as blocked,
             (select count(*) from api_keys where team_id = t.id) as keys,
             (select count(*) from team_webhook_secrets) as secrets
      from teams t join memberships m on m.team_id = t.id where t.id = ${team.id} order by m.user_id`;
    const all = await deeds(team);
    const before = await tracesOf();
    for (const [method, path, body] of all)
      assert.equal(
        await ask(team.testKey, method, path, body),
        "403 live_credential_needed",
        `${method} ${path}`,
      );
    assert.deepEqual(await tracesOf(), before);
    assert.equal(await ask(team.liveKey, "PATCH", all[0][1], all[0][2]), "200");
    assert.equal(await ask(team.liveKey, "DELETE", "/v1/team"), "204");
  });

  it("with a lower role is refused for its role first", async () => {
    const team = await deployment.team("free");
    await deployment.sql`update api_keys set role = 'member' where team_id = ${team.id} and env = 'test'`;
    assert.equal(await ask(team.testKey, "DELETE", "/v1/team"), "403 insufficient_role");
  });

  it("makes and revokes no key, not of its own kind either", async () => {
    const team = await deployment.team("free");
    const test = await create(team.liveKey, "test");
    assert.match(test.secret ?? "", /^rcpt_test_/);
    const live = await create(team.liveKey, "live");
    for (const { id, env, secret } of [test, live]) {
      const body = { label: "heir", env };
      assert.equal(await ask(team.testKey, "POST", "/v1/keys", body), "403 live_credential_needed");
      assert.equal(await ask(team.testKey, "DELETE", `/v1/keys/${id}`), "403 live_credential_needed");
      assert.equal((await api.verify(secret ?? "", "valid@plain.test")).status, 200);
    }
    assert.equal(await ask(team.liveKey, "DELETE", `/v1/keys/${live.id}`), "204");
  });

  it("is documented in the description of each route that refuses it", async () => {
    const liveOnly = routes.filter((route) => route.access !== "public" && route.liveOnly === true);
    const named = routes.filter((route) => errorsOf(route).includes("live_credential_needed"));
    assert.deepEqual(
      named.map(({ operationId }) => operationId).sort(),
      [...liveOnly.map(({ operationId }) => operationId), "submitBulk"].sort(),
    );
    assert.equal(liveOnly.length, (await deeds(await deployment.team("free"))).length);
  });
});

describe("whose keys are revoked by whom", () => {
  it("an owner's by owners and by themselves, anybody's else by admins", async () => {
    const team = await deployment.team("free");
    const [admin, peer, owner] = await Promise.all(
      (["admin", "admin", "owner"] as const).map((role) => addMember(deployment.sql, team.id, role)),
    );
    const revoke = async (by: string, of: string) => {
      const { id } = await create(of, "live");
      return ask(by, "DELETE", `/v1/keys/${id}`);
    };
    assert.equal(await revoke(admin?.session ?? "", team.session), "403 insufficient_role");
    assert.equal(await revoke(admin?.session ?? "", peer?.session ?? ""), "204");
    assert.equal(await revoke(owner?.session ?? "", team.session), "204");
    assert.equal(await revoke(owner?.session ?? "", peer?.session ?? ""), "204");
    // An owner's key with the role admin is the owner's still.
    const lesser = await api.send<CreatedKey>("POST", "/v1/keys", {
      key: team.session,
      body: { label: "admin", env: "live", role: "admin" },
    });
    assert.equal(await revoke(lesser.body.secret ?? "", team.session), "204");
    assert.equal(await revoke(lesser.body.secret ?? "", owner?.session ?? ""), "403 insufficient_role");
  });
});
