import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { login, newEmail, PASSWORD, register, type SignedInBody, usePortal } from "../../support/portal.ts";

/** An account whose teams have all gone: it cannot sign in, and comes back by registering with its password. */
const portal = usePortal({ isMailed: false });

const LOSSES: [how: string, lose: (account: SignedInBody) => Promise<unknown>][] = [
  ["was deleted", ({ session }) => portal.one.send("DELETE", "/v1/team", { key: session.token })],
  [
    "removed it",
    async ({ team, user }) => {
      const other = await portal.deployment.team("pro");
      await portal.deployment.sql`
        insert into memberships (team_id, user_id, role) values (${team.id}, ${other.ownerId}, 'owner')`;
      await portal.deployment.sql`
        update sessions set team_id = ${team.id} where user_id = ${other.ownerId}`;
      return portal.one.send("DELETE", `/v1/team/members/${user.id}`, { key: other.session });
    },
  ],
];

describe("an account whose only team", () => {
  for (const [how, lose] of LOSSES) {
    it(`${how} comes back by its password, as the owner of a new team`, async () => {
      const email = newEmail();
      const { body: account } = await register(portal.one, email);
      assert.deepEqual(((await lose(account)) as { status: number }).status, 204);
      assert.equal((await login(portal.two, { email, password: PASSWORD })).status, 401);

      const wrong = await register(portal.one, email, "a wrong password");
      assert.deepEqual([wrong.status, wrong.body.code], [409, "account_exists"]);
      const back = await register(portal.one, email.toUpperCase());
      assert.equal(back.status, 201);
      assert.deepEqual(back.body.user, account.user);
      assert.notEqual(back.body.team.id, account.team.id);
      assert.deepEqual([back.body.team.tier, back.body.team.role], ["free", "owner"]);
      const { body } = await login(portal.two, { email, password: PASSWORD });
      assert.deepEqual(body.team, back.body.team);
      const again = await register(portal.two, email);
      assert.deepEqual([again.status, again.body.code], [409, "account_exists"]);
    });
  }

  it("is gone comes back once of 20 at once, and not where registration is closed", async () => {
    const email = newEmail();
    const { body: account } = await register(portal.one, email);
    await portal.one.send("DELETE", "/v1/team", { key: account.session.token });
    const api = await portal.deployment.startApi({ REGISTRATION: "invite" });
    try {
      assert.equal((await register(api, email)).body.code, "registration_closed");
    } finally {
      await api.stop();
    }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => register(i % 2 === 0 ? portal.one : portal.two, email)),
    );
    const outcomes = answers.map(({ status, body }) => `${status} ${body.code ?? ""}`).sort();
    assert.deepEqual(outcomes, ["201 ", ...Array(19).fill("409 account_exists")]);
    const [row] = await portal.deployment.sql<[{ count: number }]>`
      select count(*)::int from memberships where user_id = ${account.user.id}`;
    assert.equal(row.count, 1);
  });
});
