import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { newSecret } from "../../../src/features/identity/api-key.ts";
import {
  invitesOf,
  login,
  newEmail,
  PASSWORD,
  PUBLIC_URL,
  register,
  type SignedInResponse,
  usePortal,
} from "../../support/portal.ts";
import type { Team } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** Invitations: made, mailed, accepted once, withdrawn; on two processes and a relay that mails. */
const portal = usePortal();

const { invite, accept, listed } = invitesOf(portal);

const tokenIn = (text: string) => /^(rcpt_inv_\w+)$/m.exec(text)?.[1] ?? assert.fail(text);

async function memberships(team: Team): Promise<number> {
  const [row] = await portal.deployment.sql<[{ count: number }]>`
    select count(*)::int from memberships where team_id = ${team.id}`;
  return row.count;
}

/** A session of a member of the team with the role. */
async function memberSession(team: Team, role: string): Promise<{ email: string; key: string }> {
  const email = newEmail();
  const { body } = await invite(team.session, { email, role });
  const { body: joined } = await accept({ token: body.token, password: PASSWORD });
  return { email, key: joined.session.token };
}

describe("an invitation", () => {
  it("is mailed and answered, makes an account that joins by the mail alone, and is gone then", async () => {
    const team = await portal.deployment.team("pro");
    const email = newEmail();
    const rename = (name: string) =>
      portal.one.send("PATCH", "/v1/team", { key: team.session, body: { name } });
    await rename("Example & Sons");
    const { status, body } = await invite(team.session, { email, role: "admin" }, portal.one);
    assert.equal(status, 201);
    assert.match(body.token, /^rcpt_inv_/);
    const linkWith = (token: string) =>
      `${PUBLIC_URL}/accept-invite#${new URLSearchParams({ token, email, team: "Example & Sons" })}`;
    assert.equal(body.link, linkWith(body.token));
    const { token: shownToken, link: _link, mailed, ...shown } = body;
    assert.equal(mailed, true);
    assert.deepEqual(await listed(team.session), [shown]);
    assert.deepEqual([shown.email, shown.role, shown.status], [email, "admin", "pending"]);

    const mail = await until("the mail has come", () => portal.sink.to(email)[0] ?? null);
    const token = tokenIn(mail.text);
    assert.ok(mail.text.includes(`${linkWith(token)}\n`), mail.text);
    assert.ok(mail.text.includes("as an admin") && !mail.text.includes(shownToken), mail.text);
    assert.equal(mail.headers.get("to"), email);

    // The inviter has not proven access to the mailbox: the answer gives neither an account, nor whether one exists.
    const known = newEmail();
    await register(portal.unmailed, known);
    const { body: toKnown } = await invite(team.session, { email: known }, portal.one);
    const wrong = [];
    for (const [sent, api] of [
      [shownToken, portal.unmailed],
      [toKnown.token, portal.two],
    ] as const) {
      const refused = await accept({ token: sent, password: "a long wrong password" }, { api });
      wrong.push([refused.status, { ...refused.body, request_id: "" }]);
    }
    assert.deepEqual(wrong[0], wrong[1]);
    assert.equal((await accept({ token: shownToken, password: PASSWORD })).body.code, "invalid_credentials");
    assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 401);
    assert.equal((await accept({ token: toKnown.token, password: PASSWORD })).status, 200);

    const joined = await accept({ token, password: PASSWORD });
    assert.equal(joined.status, 200);
    assert.deepEqual([joined.body.team.id, joined.body.team.role], [team.id, "admin"]);
    assert.equal(joined.body.user.email, email);
    assert.deepEqual(await listed(team.session), []);
    assert.equal((await portal.two.send("GET", "/v1/team", { key: joined.body.session.token })).status, 200);
    assert.equal((await login(portal.two, { email, password: PASSWORD })).body.team.id, team.id);
    for (const used of [token, shownToken])
      for (const password of [PASSWORD, "another long password"])
        assert.equal((await accept({ token: used, password })).body.code, "token_unusable");

    const events = await portal.deployment.sql<{ data: Record<string, unknown> }[]>`
      select data from events
      where team_id = ${team.id} and type = 'team.member_joined' and data->>'email' = ${email}`;
    const data = { team_id: team.id, user_id: joined.body.user.id, email, role: "admin" };
    assert.deepEqual(
      events.map((event) => event.data),
      [data],
    );
    // A name that reads like a link is in no link of ours.
    await rename("visit evil.example");
    const other = await invite(team.session, { email: newEmail() }, portal.one);
    assert.doesNotMatch(other.body.link, /evil/);
  });

  it("accepted 50 times at once in two processes makes one member, one session, one event", async () => {
    const team = await portal.deployment.team("pro");
    const { body } = await invite(team.session, { email: newEmail() });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        accept({ token: body.token, password: PASSWORD }, { api: i % 2 === 0 ? portal.one : portal.two }),
      ),
    );
    const outcomes = answers.map(({ status, body }) => `${status} ${body.code ?? ""}`).sort();
    assert.deepEqual(outcomes, ["200 ", ...Array(49).fill("410 token_unusable")]);
    assert.equal(await memberships(team), 2);
    const [row] = await portal.deployment.sql<[{ users: number; sessions: number; events: number }]>`
      select (select count(*)::int from users where email = ${body.email}) as users,
        (select count(*)::int from sessions where team_id = ${team.id}) as sessions,
        (select count(*)::int from events where team_id = ${team.id}) as events`;
    assert.deepEqual({ ...row }, { users: 1, sessions: 2, events: 1 });
  });

  it("accepted 50 times at once by one session makes one member", async () => {
    const team = await portal.deployment.team("pro");
    const email = newEmail();
    const { body: account } = await register(portal.unmailed, email);
    const { body } = await invite(team.session, { email });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        accept(
          { token: body.token },
          { key: account.session.token, api: i % 2 === 0 ? portal.one : portal.two },
        ),
      ),
    );
    const outcomes = answers.map(({ status, body }) => `${status} ${body.code ?? ""}`).sort();
    assert.deepEqual(outcomes, ["200 ", ...Array(49).fill("410 token_unusable")]);
    assert.equal(await memberships(team), 2);
  });

  it("lets an account that exists join by its own session or password alone", async () => {
    const team = await portal.deployment.team("pro");
    const email = newEmail();
    const { body: account } = await register(portal.unmailed, email);
    const { body: stranger } = await register(portal.unmailed, newEmail());
    const { body } = await invite(team.session, { email: email.toUpperCase() });
    const { token } = body;
    const refused: [Promise<SignedInResponse>, string][] = [
      [accept({ token }), "validation_failed"],
      [accept({ token, password: "a wrong password" }), "invalid_credentials"],
      [accept({ token }, { key: stranger.session.token }), "validation_failed"],
      [accept({ token }, { key: team.session }), "validation_failed"],
      [accept({ token, password: PASSWORD }, { key: team.liveKey }), "session_required"],
      [accept({ token, password: PASSWORD }, { key: newSecret("sess") }), "unauthorized"],
    ];
    for (const [answer, code] of refused) assert.equal((await answer).body.code, code);
    assert.equal(await memberships(team), 1);
    const { status, body: joined } = await accept({ token, password: PASSWORD });
    assert.equal(status, 200);
    assert.deepEqual([joined.user, joined.team.role], [account.user, "member"]);

    const other = await portal.deployment.team("pro");
    const { body: second } = await invite(other.session, { email });
    const bySession = await accept({ token: second.token }, { key: account.session.token, api: portal.two });
    assert.deepEqual([bySession.status, bySession.body.team.id], [200, other.id]);
  });

  it("does not give an account without a password away to its token", async () => {
    const team = await portal.deployment.team("pro");
    const other = await portal.deployment.team("pro");
    const { body } = await invite(team.session, { email: other.ownerEmail });
    assert.equal((await accept({ token: body.token, password: PASSWORD })).body.code, "invalid_credentials");
    assert.equal((await login(portal.one, { email: other.ownerEmail, password: PASSWORD })).status, 401);
    assert.equal((await accept({ token: body.token }, { key: other.session })).status, 200);
  });

  it("of a member is refused, and used up when it is accepted all the same", async () => {
    const team = await portal.deployment.team("pro");
    const email = newEmail();
    const { body: account } = await register(portal.unmailed, email);
    const { body } = await invite(team.session, { email });
    await portal.deployment.sql`
      insert into memberships (team_id, user_id, role) values (${team.id}, ${account.user.id}, 'owner')`;
    assert.equal((await invite(team.session, { email: email.toUpperCase() })).body.code, "already_member");
    const again = await accept({ token: body.token, password: PASSWORD });
    assert.deepEqual([again.status, again.body.code], [409, "already_member"]);
    assert.equal((await accept({ token: body.token, password: PASSWORD })).status, 410);
    const [row] = await portal.deployment.sql<[{ role: string }]>`
      select role from memberships where team_id = ${team.id} and user_id = ${account.user.id}`;
    assert.equal(row.role, "owner");
  });

  it("is worth nothing once it was withdrawn, replaced, has expired, or its team is gone", async () => {
    const team = await portal.deployment.team("pro");
    const unusable = async (token: string) => {
      const answer = await accept({ token, password: PASSWORD });
      assert.deepEqual([answer.status, answer.body.code], [410, "token_unusable"]);
    };
    const { body: withdrawn } = await invite(team.session, { email: newEmail() });
    const cancel = () => portal.two.send("DELETE", `/v1/team/invites/${withdrawn.id}`, { key: team.session });
    assert.equal((await cancel()).status, 204);
    assert.equal((await cancel()).status, 404);
    await unusable(withdrawn.token);

    const email = newEmail();
    const { body: replaced } = await invite(team.session, { email, role: "owner" });
    const { body: current } = await invite(team.session, { email: email.toUpperCase(), role: "member" });
    await unusable(replaced.token);
    assert.deepEqual(
      (await listed(team.session)).map(({ id, role }) => [id, role]),
      [[current.id, "member"]],
    );

    const { body: expired } = await invite(team.session, { email: newEmail() });
    await portal.deployment.sql`update invites set expires_at = now() where id = ${expired.id}`;
    await unusable(expired.token);
    assert.equal((await listed(team.session)).length, 1);

    await portal.one.send("DELETE", "/v1/team", { key: team.session });
    await unusable(current.token);
    for (const token of ["", "x", newSecret("inv"), newSecret("pwr"), "\0"]) await unusable(token);
  });

  it("makes no account where REGISTRATION=closed; an account that exists joins", async () => {
    const team = await portal.deployment.team("pro");
    const [fresh, known] = [newEmail(), newEmail()];
    await register(portal.unmailed, known);
    const tokens = await Promise.all(
      [fresh, known].map(async (email) => (await invite(team.session, { email })).body.token),
    );
    const start = (registration: string) =>
      portal.deployment.startApi({ REGISTRATION: registration, TRUSTED_PROXIES: "127.0.0.1" });
    const [closed, invited] = await Promise.all([start("closed"), start("invite")]);
    try {
      const [toFresh, toKnown] = tokens.map((token) => ({ token, password: PASSWORD }));
      assert.equal((await accept(toFresh ?? {}, { api: closed })).body.code, "registration_closed");
      assert.equal((await accept(toKnown ?? {}, { api: closed })).status, 200);
      assert.equal(
        (await accept({ token: tokens[0] ?? "" }, { api: invited })).body.code,
        "validation_failed",
      );
      assert.equal(
        (await accept({ token: tokens[0] ?? "", password: "short" }, { api: invited })).status,
        400,
      );
      assert.equal((await accept(toFresh ?? {}, { api: invited })).status, 200);
    } finally {
      await Promise.all([closed.stop(), invited.stop()]);
    }
  });
});

describe("who may invite", () => {
  it("is an admin, and for an owner an owner", async () => {
    const team = await portal.deployment.team("pro");
    const admin = await memberSession(team, "admin");
    const member = await memberSession(team, "member");
    assert.equal((await invite(admin.key, { email: newEmail(), role: "admin" })).status, 201);
    for (const [key, role] of [
      [admin.key, "owner"],
      [member.key, "member"],
    ] as const) {
      const answer = await invite(key, { email: newEmail(), role });
      assert.deepEqual([answer.status, answer.body.code], [403, "insufficient_role"]);
    }
    assert.equal((await portal.one.send("GET", "/v1/team/invites", { key: member.key })).status, 403);
    const { body: mine } = await invite(team.session, { email: newEmail(), role: "owner" });
    const path = `/v1/team/invites/${mine.id}`;
    assert.equal((await portal.one.send("DELETE", path, { key: member.key })).status, 403);
    for (const answer of [
      await portal.one.send("DELETE", path, { key: admin.key }),
      await invite(admin.key, { email: mine.email, role: "member" }),
    ])
      assert.deepEqual([answer.status, answer.body.code], [403, "insufficient_role"]);
    const joined = await accept({ token: mine.token, password: PASSWORD });
    assert.deepEqual([joined.status, joined.body.team.role], [200, "owner"]);
  });

  it("invites an address one at a time, so often an hour, and a bounded number", async () => {
    const team = await portal.deployment.team("pro");
    const email = newEmail();
    const answers = await Promise.all(
      Array.from({ length: LIMITS.portal.invitesPerRecipient + 3 }, () => invite(team.session, { email })),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, LIMITS.portal.invitesPerRecipient);
    assert.ok(answers.every(({ status, body }) => status === 201 || body.code === "rate_limited"));
    assert.equal((await listed(team.session)).length, 1);

    await portal.deployment.sql`
      insert into invites (id, team_id, email, role, invited_by, hash, expires_at)
      select 'inv_' || i, ${team.id}, i || '@full.example', 'member', ${team.ownerId},
        sha256((i || ${team.id})::bytea), now() + interval '1 day'
      from generate_series(1, ${LIMITS.portal.invitesPerTeam - 1}) i`;
    assert.equal((await invite(team.session, { email: newEmail() })).body.code, "limit_reached");
    assert.equal((await invite(team.session, { email: "1@full.example" })).status, 201);
    const { body: page } = await portal.one.send("GET", "/v1/team/invites?limit=60", { key: team.session });
    assert.equal((page.data as unknown[]).length, 60);
    const rest = await portal.one.send("GET", `/v1/team/invites?limit=60&cursor=${page.next_cursor}`, {
      key: team.session,
    });
    assert.equal((rest.body.data as unknown[]).length, LIMITS.portal.invitesPerTeam - 60);
    assert.equal(rest.body.next_cursor, null);
  });

  it("may have so many members: who accepts last stays invited", async () => {
    const team = await portal.deployment.team("pro");
    const invitations = await Promise.all(
      [1, 2, 3].map(async () => (await invite(team.session, { email: newEmail() })).body),
    );
    await portal.deployment.sql`
      with people as (
        insert into users (id, email) select ${team.id} || i, i || ${`@${team.id}.example`}
        from generate_series(1, ${LIMITS.team.members - 2}) i returning id
      )
      insert into memberships (team_id, user_id, role) select ${team.id}, id, 'member' from people`;
    const answers = await Promise.all(invitations.map(({ token }) => accept({ token, password: PASSWORD })));
    const outcomes = answers.map(({ status, body }) => `${status} ${body.code ?? ""}`).sort();
    assert.deepEqual(outcomes, ["200 ", "409 limit_reached", "409 limit_reached"]);
    assert.equal(await memberships(team), LIMITS.team.members);
    assert.equal((await listed(team.session)).length, 2);
  });
});

describe("the mail of an invitation", () => {
  it("holds no header, recipient or link of the name of a team", async () => {
    const team = await portal.deployment.team("pro");
    const name = 'Your bank <b>"x"</b> http://evil.example';
    await portal.deployment.sql`update teams set name = ${name} where id = ${team.id}`;
    const email = newEmail();
    await invite(team.session, { email }, portal.one);
    const mail = await until("the mail has come", () => portal.sink.to(email)[0] ?? null);
    assert.deepEqual(mail.to, [email]);
    assert.doesNotMatch(mail.text, /evil|bank/);
    assert.equal(mail.headers.get("auto-submitted"), "auto-generated");
    assert.match(mail.headers.get("message-id") ?? "", /^<mail_\w+@sender\.example>$/);
  });

  it("is not sent any more once the invitation is withdrawn", async () => {
    const team = await portal.deployment.team("pro");
    const email = newEmail();
    const next = newEmail();
    await portal.withoutRelay(async () => {
      const { body } = await invite(team.session, { email }, portal.one);
      assert.equal(body.mailed, true);
      await portal.one.send("DELETE", `/v1/team/invites/${body.id}`, { key: team.session });
      await invite(team.session, { email: next }, portal.one);
    });
    await until("the mail behind it has come", () => portal.sink.to(next).length === 1);
    assert.equal(portal.sink.to(email).length, 0);
  });
});
