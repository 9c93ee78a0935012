import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { invitesOf, newEmail, PASSWORD, usePortal } from "../../support/portal.ts";
import type { Team } from "../../support/service.ts";

/** An invitation is valid only while its maker may still make it: a removed maker cannot return by one. */
const portal = usePortal();
const { invite, accept, listed } = invitesOf(portal);

/** A member with the role, who joined by the owner's invitation. */
async function join(team: Team, role: string): Promise<{ id: string; key: string }> {
  const { body } = await invite(team.session, { email: newEmail(), role });
  const { body: joined } = await accept({ token: body.token, password: PASSWORD });
  return { id: joined.user.id, key: joined.session.token };
}

const owner = (team: Team, method: string, path: string, body?: Record<string, unknown>) =>
  portal.two.send(method, path, { key: team.session, ...(body === undefined ? {} : { body }) });

const WAYS: [what: string, maker: string, lower: (team: Team, id: string) => Promise<{ status: number }>][] =
  [
    ["is removed", "admin", (team, id) => owner(team, "DELETE", `/v1/team/members/${id}`)],
    ["is removed, as an owner", "owner", (team, id) => owner(team, "DELETE", `/v1/team/members/${id}`)],
    [
      "becomes a member",
      "admin",
      (team, id) => owner(team, "PATCH", `/v1/team/members/${id}`, { role: "member" }),
    ],
  ];

describe("the invitations of a member", () => {
  for (const [what, role, lower] of WAYS) {
    it(`who ${what} are withdrawn with their mails`, async () => {
      const team = await portal.deployment.team("pro");
      const maker = await join(team, role);
      const invitations = await Promise.all(
        ["member", "admin"].map(async (role) => (await invite(maker.key, { email: newEmail(), role })).body),
      );
      const { body: others } = await invite(team.session, { email: newEmail(), role: "owner" });
      assert.ok((await lower(team, maker.id)).status < 300);
      for (const { token } of invitations) {
        const answer = await accept({ token, password: PASSWORD });
        assert.deepEqual([answer.status, answer.body.code], [410, "token_unusable"]);
      }
      assert.deepEqual(
        (await listed(team.session)).map(({ id }) => id),
        [others.id],
      );
      assert.equal((await accept({ token: others.token, password: PASSWORD })).status, 200);
    });
  }

  for (const [what, lower] of [
    ["transfers the team", (team, heir) => owner(team, "POST", "/v1/team/transfer", { user_id: heir.id })],
    [
      "is made an admin",
      (team, heir) =>
        portal.two.send("PATCH", `/v1/team/members/${team.ownerId}`, {
          key: heir.key,
          body: { role: "admin" },
        }),
    ],
  ] as [string, (team: Team, heir: { id: string; key: string }) => Promise<{ status: number }>][]) {
    it(`who ${what} make no owner any more`, async () => {
      const team = await portal.deployment.team("pro");
      const heir = await join(team, what === "is made an admin" ? "owner" : "admin");
      const make = async (role: string) => (await invite(team.session, { email: newEmail(), role })).body;
      const [toOwner, toAdmin] = [await make("owner"), await make("admin")];
      assert.equal((await lower(team, heir)).status, 200);
      assert.equal((await accept({ token: toOwner.token, password: PASSWORD })).body.code, "token_unusable");
      const joined = await accept({ token: toAdmin.token, password: PASSWORD });
      assert.deepEqual([joined.status, joined.body.team.role], [200, "admin"]);
    });
  }

  it("admit no user while their maker is removed, whichever comes first", async () => {
    for (let round = 0; round < 10; round++) {
      const team = await portal.deployment.team("pro");
      const maker = await join(team, "admin");
      const { body } = await invite(maker.key, { email: newEmail(), role: "admin" });
      const [joined, removed, made] = await Promise.all([
        accept({ token: body.token, password: PASSWORD }, { api: portal.two }),
        portal.one.send("DELETE", `/v1/team/members/${maker.id}`, { key: team.session }),
        invite(maker.key, { email: newEmail() }),
      ]);
      assert.equal(removed.status, 204);
      assert.ok([200, 410].includes(joined.status), JSON.stringify(joined.body));
      assert.ok([201, 401].includes(made.status), JSON.stringify(made.body));
      assert.deepEqual(await listed(team.session), []);
    }
  });
});
