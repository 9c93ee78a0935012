import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tally } from "../../support/load.ts";
import {
  login,
  newClient,
  newEmail,
  PASSWORD,
  register,
  type SignedInBody,
  usePortal,
} from "../../support/portal.ts";
import type { Response } from "../../support/service.ts";

/** Everything about one account and its teams at once, on two processes: no fault of ours, and nothing half done. */
const portal = usePortal({ isMailed: false });

const ROUNDS = 6;
const NEXT = "another long password";

const byTurns = (i: number) => (i % 2 === 0 ? portal.one : portal.two);

const codes = (answers: readonly Response<unknown>[]) =>
  tally(
    answers.map(({ status, body }) => ({ status, code: (body as { code?: string } | null)?.code ?? null })),
  );

function assertNoFault(answers: readonly Response<unknown>[]): void {
  assert.ok(
    answers.every(({ status }) => status < 500),
    JSON.stringify(codes(answers)),
  );
}

/** Sessions of users who are not members of the session's team: worthless, but never ended. */
async function strays(userId: string): Promise<number> {
  const [row] = await portal.deployment.sql<[{ count: number }]>`
    select count(*)::int from sessions s where user_id = ${userId}
      and not exists (select from memberships m where m.user_id = s.user_id and m.team_id = s.team_id)`;
  return row.count;
}

describe("at once", () => {
  it("signing in, changing the password, and deleting the team leave no session of any of them", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const email = newEmail();
      const { body: account } = await register(portal.one, email);
      const key = account.session.token;
      const sessions = await Promise.all(
        Array.from({ length: 4 }, (_, i) => login(byTurns(i), { email, password: PASSWORD })),
      );
      const change = { current_password: PASSWORD, new_password: NEXT };
      const answers = await Promise.all([
        ...Array.from({ length: 6 }, (_, i) => login(byTurns(i), { email, password: PASSWORD })),
        portal.one.send("POST", "/v1/auth/password", { key, body: change, headers: newClient() }),
        portal.two.send("DELETE", "/v1/team", { key }),
        ...sessions.map(({ body }) =>
          portal.two.send("POST", "/v1/auth/logout", { key: body.session.token }),
        ),
      ]);
      assertNoFault(answers);
      assert.equal(await strays(account.user.id), 0);
      const [row] = await portal.deployment.sql<[{ count: number }]>`
        select count(*)::int from sessions where user_id = ${account.user.id}`;
      assert.equal(row.count, 0, JSON.stringify(codes(answers)));
    }
  });

  it("accepting an invitation, withdrawing it, and deleting the team come to one of them", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const team = await portal.deployment.team("pro");
      const email = newEmail();
      const { body: invite } = await portal.one.send<{ id: string; token: string }>(
        "POST",
        "/v1/team/invites",
        {
          key: team.session,
          body: { email },
        },
      );
      const body = { token: invite.token, password: PASSWORD };
      const last = () =>
        round % 2 === 0
          ? portal.two.send("DELETE", "/v1/team", { key: team.session })
          : portal.two.send("DELETE", `/v1/team/invites/${invite.id}`, { key: team.session });
      const answers = await Promise.all([
        ...Array.from({ length: 5 }, (_, i) =>
          byTurns(i).send<SignedInBody>("POST", "/v1/auth/accept-invite", { body, headers: newClient() }),
        ),
        last(),
      ]);
      assertNoFault(answers);
      const joined = answers.slice(0, 5).filter(({ status }) => status === 200);
      assert.ok(joined.length <= 1, JSON.stringify(codes(answers)));
      const [row] = await portal.deployment.sql<[{ users: number; members: number; events: number }]>`
        select (select count(*)::int from users where email = ${email}) as users,
          (select count(*)::int from memberships m join users u on u.id = m.user_id where u.email = ${email}) as members,
          (select count(*)::int from events where team_id = ${team.id}) as events`;
      assert.equal(row.users, joined.length);
      assert.equal(row.events, row.members);
    }
  });

  it("removing a member who signs in, and making one an owner who invites, end in one state", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const team = await portal.deployment.team("pro");
      const email = newEmail();
      const { body: account } = await register(portal.one, email);
      await portal.deployment.sql`
        insert into memberships (team_id, user_id, role) values (${team.id}, ${account.user.id}, 'admin')`;
      const credentials = { email, password: PASSWORD, team_id: team.id };
      const { body: signedIn } = await login(portal.one, credentials);
      const key = signedIn.session.token;
      const answers = await Promise.all([
        ...Array.from({ length: 6 }, (_, i) => login(byTurns(i), credentials)),
        ...Array.from({ length: 4 }, (_, i) =>
          byTurns(i).send("POST", "/v1/team/invites", { key, body: { email: newEmail(), role: "admin" } }),
        ),
        portal.two.send("DELETE", `/v1/team/members/${account.user.id}`, { key: team.session }),
        portal.one.send("PATCH", `/v1/team/members/${account.user.id}`, {
          key: team.session,
          body: { role: "member" },
        }),
      ]);
      assertNoFault(answers);
      assert.equal(await strays(account.user.id), 0);
      assert.equal((await login(portal.one, credentials)).status, 401);
    }
  });
});
