import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import {
  afterItEnded,
  login,
  newClient,
  newEmail,
  PASSWORD,
  register,
  usePortal,
} from "../../support/portal.ts";
import type { TestApi } from "../../support/service.ts";

/** Portal accounts: made, signed in to, left; on two processes. */
const portal = usePortal({ isMailed: false });

const me = (api: TestApi, key: string) => api.send("GET", "/v1/auth/me", { key });

/** Both processes refuse a session that was ended just now, a second later at the latest. */
async function endsEverywhere(token: string): Promise<void> {
  await afterItEnded();
  for (const api of [portal.one, portal.two]) assert.equal((await me(api, token)).status, 401);
}

describe("registering", () => {
  it("makes an account, a free team that it owns, and a session that works everywhere", async () => {
    const email = newEmail();
    const { status, body } = await register(portal.one, email);
    assert.equal(status, 201);
    assert.match(body.user.id, /^usr_/);
    assert.deepEqual(body.user.email, email);
    assert.deepEqual(
      { ...body.team, id: "" },
      { id: "", name: `team of ${email}`, tier: "free", role: "owner" },
    );
    assert.match(body.session.token, /^rcpt_sess_/);
    assert.ok(Date.parse(body.session.expires_at) > Date.now());
    for (const api of [portal.one, portal.two]) {
      const { body: identity } = await me(api, body.session.token);
      assert.deepEqual(identity.user, body.user);
      assert.deepEqual(identity.team, body.team);
      assert.deepEqual(identity.teams, [body.team]);
      assert.equal((identity.credential as { type: string }).type, "session");
    }
    const { status: keyStatus } = await portal.one.send("POST", "/v1/keys", {
      key: body.session.token,
      body: { label: "first", env: "live" },
    });
    assert.equal(keyStatus, 201);
  });

  it("takes an address once, in any spelling, also by 20 at once", async () => {
    const email = newEmail();
    const spellings = [email, email.toUpperCase(), ` ${email} `, email.replace("p", "P")];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        register(i % 2 === 0 ? portal.one : portal.two, spellings[i % 4] ?? email),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    const refused = answers.filter(({ status }) => status !== 201);
    assert.deepEqual(
      new Set(refused.map(({ status, body }) => `${status} ${body.code}`)),
      new Set(["409 account_exists"]),
    );
    const [row] = await portal.deployment.sql<[{ users: number; teams: number }]>`
      select (select count(*)::int from users where lower(email) = ${email}) as users,
             (select count(*)::int from teams where lower(name) like ${`%${email}%`}) as teams`;
    assert.deepEqual({ ...row }, { users: 1, teams: 1 });
  });

  it("does not take over an account that the operator made", async () => {
    const { ownerEmail, session } = await portal.deployment.team("pro");
    assert.equal((await register(portal.one, ownerEmail)).body.code, "account_exists");
    assert.equal((await login(portal.one, { email: ownerEmail, password: PASSWORD })).status, 401);
    assert.equal((await me(portal.one, session)).status, 200);
  });

  it("says what is wrong with a password or an address, and keeps neither", async () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{ password: "short" }, "password"],
      [{ password: "a".repeat(201) }, "password"],
      [{ password: `has a NUL in it \0` }, "password"],
      [{ email: "nobody" }, "email"],
      [{ email: "a@localhost\r\nbcc: x@example.com" }, "email"],
      [{ team_name: "two\nlines" }, "team_name"],
      [{ team_name: " " }, "team_name"],
      [{ tier: "enterprise" }, "tier"],
    ];
    for (const [fields, path] of wrong) {
      const valid = { email: newEmail(), password: PASSWORD, team_name: "a team" };
      const body = { ...valid, ...fields };
      const answer = await portal.one.send("POST", "/v1/auth/register", { body, headers: newClient() });
      assert.deepEqual([answer.status, answer.body.code], [400, "validation_failed"]);
      assert.deepEqual(
        (answer.body.errors as { path: string }[]).map((error) => error.path),
        [path],
      );
      assert.equal((await login(portal.one, { email: valid.email, password: valid.password })).status, 401);
    }
  });

  for (const registration of ["invite", "closed"]) {
    it(`is refused where REGISTRATION=${registration}`, async () => {
      const api = await portal.deployment.startApi({ REGISTRATION: registration });
      try {
        const answer = await register(api, newEmail());
        assert.deepEqual([answer.status, answer.body.code], [403, "registration_closed"]);
      } finally {
        await api.stop();
      }
    });
  }

  it("is limited by client address", async () => {
    const headers = newClient();
    for (let i = 0; i < LIMITS.portal.registrationsPerAddress; i++)
      assert.equal((await register(portal.one, "owner1@@example.com", PASSWORD, headers)).status, 400);
    const emails = [newEmail(), newEmail(), newEmail()];
    for (const email of emails) await register(portal.one, email);
    const answers = [];
    for (let i = 0; i <= LIMITS.portal.registrationsPerAddress; i++)
      answers.push(
        await register(i % 2 === 0 ? portal.one : portal.two, emails[i % 3] ?? "", PASSWORD, headers),
      );
    const last = answers.pop();
    assert.ok(answers.every(({ body }) => body.code === "account_exists"));
    assert.deepEqual([last?.status, last?.body.code], [429, "rate_limited"]);
    assert.ok(Number(last?.headers.get("retry-after")) > 60);
    assert.equal((await register(portal.one, newEmail())).status, 201);
  });
});

describe("a session", () => {
  it("is begun by signing in, in any case, and ended by signing out, everywhere", async () => {
    const email = newEmail();
    const { body: account } = await register(portal.one, email);
    const { status, body } = await login(portal.two, { email: email.toUpperCase(), password: PASSWORD });
    assert.equal(status, 200);
    assert.deepEqual([body.user, body.team], [account.user, account.team]);
    assert.notEqual(body.session.token, account.session.token);
    for (const api of [portal.one, portal.two]) assert.equal((await me(api, body.session.token)).status, 200);
    const out = await portal.one.send("POST", "/v1/auth/logout", { key: body.session.token });
    assert.deepEqual([out.status, out.body], [204, null]);
    assert.equal((await me(portal.one, body.session.token)).status, 401);
    await endsEverywhere(body.session.token);
    assert.equal((await me(portal.two, account.session.token)).status, 200);
  });

  it("takes the same password in whichever Unicode form it was typed", async () => {
    const email = newEmail();
    await register(portal.one, email, "Pa\u0308sswort mit U\u0308");
    assert.equal((await login(portal.one, { email, password: "P\u00e4sswort mit \u00dc" })).status, 200);
  });

  it("is of the requested team, else of the first; never of another's team", async () => {
    const email = newEmail();
    const { body: account } = await register(portal.one, email);
    const other = await portal.deployment.team("pro");
    await portal.deployment.sql`
      insert into memberships (team_id, user_id, role) values (${other.id}, ${account.user.id}, 'admin')`;
    const credentials = { email, password: PASSWORD };
    assert.equal((await login(portal.one, credentials)).body.team.id, account.team.id);
    const { body } = await login(portal.one, { ...credentials, team_id: other.id });
    assert.deepEqual([body.team.id, body.team.tier, body.team.role], [other.id, "pro", "admin"]);
    const identity = (await me(portal.two, body.session.token)).body;
    assert.deepEqual(identity.teams, [account.team, body.team]);
    assert.equal(identity.role, "admin");
    const otherTeam = await portal.deployment.team("pro");
    for (const team_id of [otherTeam.id, "team_00000000000000000000000000", "x", "\0"])
      assert.equal((await login(portal.one, { ...credentials, team_id })).body.code, "invalid_credentials");
  });

  it("shows a key its own team alone, and no key signs out or changes a password", async () => {
    const email = newEmail();
    const { body: account } = await register(portal.one, email);
    const other = await portal.deployment.team("pro");
    await portal.deployment.sql`
      insert into memberships (team_id, user_id, role) values (${account.team.id}, ${other.ownerId}, 'member')`;
    const { body } = await me(portal.one, other.liveKey);
    assert.deepEqual(
      (body.teams as { id: string }[]).map(({ id }) => id),
      [other.id],
    );
    assert.equal((body.credential as { type: string }).type, "api_key");
    const out = await portal.one.send("POST", "/v1/auth/logout", { key: other.liveKey });
    const change = await portal.one.send("POST", "/v1/auth/password", {
      key: other.liveKey,
      body: { new_password: PASSWORD },
    });
    for (const answer of [out, change])
      assert.deepEqual([answer.status, answer.body.code], [403, "session_required"]);
  });

  it(`is one of ${LIMITS.portal.sessionsPerUser} of its user: the oldest end`, async () => {
    const email = newEmail();
    const { body: account } = await register(portal.one, email);
    await portal.deployment.sql`
      insert into sessions (id, hash, user_id, team_id, expires_at)
      select 'sess_' || i, sha256((i || ${account.user.id})::bytea), ${account.user.id}, ${account.team.id},
        now() + interval '1 day'
      from generate_series(1, ${LIMITS.portal.sessionsPerUser}) i`;
    const answers = await Promise.all(
      [portal.one, portal.two, portal.one].map((api) => login(api, { email, password: PASSWORD })),
    );
    const [row] = await portal.deployment.sql<[{ count: number }]>`
      select count(*)::int from sessions where user_id = ${account.user.id}`;
    assert.equal(row.count, LIMITS.portal.sessionsPerUser);
    await endsEverywhere(account.session.token);
    for (const { body } of answers) assert.equal((await me(portal.one, body.session.token)).status, 200);
  });
});

describe("a refused sign-in", () => {
  it("is answered the same, whatever is wrong", async () => {
    const email = newEmail();
    const { body: account } = await register(portal.one, email);
    const teamless = newEmail();
    await register(portal.one, teamless);
    await portal.deployment.sql`delete from teams where name = ${`team of ${teamless}`}`;
    const { ownerEmail } = await portal.deployment.team("pro");
    const attempts = [
      { email, password: "not the password" },
      { email: newEmail(), password: PASSWORD },
      { email: ownerEmail, password: PASSWORD },
      { email: teamless, password: PASSWORD },
      { email: "no address", password: PASSWORD },
      { email, password: "x" },
      { email, password: `${PASSWORD}\0` },
      { email, password: "\ud800".repeat(20) },
      { email: `${email}\0`, password: PASSWORD },
      { email, password: PASSWORD, team_id: (await portal.deployment.team("pro")).id },
    ];
    const shapes = new Set<string>();
    for (const attempt of attempts) {
      const answer = await login(portal.one, attempt);
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
      shapes.add(JSON.stringify({ ...answer.body, request_id: "", status: answer.status }));
    }
    assert.equal(shapes.size, 1, [...shapes].join("\n"));
    assert.match([...shapes][0] ?? "", /"invalid_credentials"/);
    assert.equal((await me(portal.one, account.session.token)).status, 200);
  });
});
