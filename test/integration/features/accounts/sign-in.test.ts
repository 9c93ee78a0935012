import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createLocalCounters } from "../../../../src/features/accounts/attempt-counters.ts";
import { createPortalLimits } from "../../../../src/features/accounts/portal-limits.ts";
import { createRegistration, type NewAccount } from "../../../../src/features/accounts/registration.ts";
import { createSignIn } from "../../../../src/features/accounts/sign-in.ts";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { openDatabase, silentLog } from "../../../support/store.ts";

const PASSWORD = "correct horse battery";

/** Sign-in with passwords that are "hashed" by a prefix, so that the calls for each user can be counted. */
async function setUp(t: TestContext) {
  const { sql } = await openDatabase(t);
  const verified: (string | null)[] = [];
  const hooks = { afterVerify: async () => {} };
  const limits = createPortalLimits(createLocalCounters(createFakeClock()));
  const deps = {
    sql,
    publisher: createChangePublisher({
      sql,
      bus: { announce: async () => undefined },
      log: silentLog,
      invalidate: () => undefined,
    }),
    passwords: {
      hash: async (password: string) => `hash:${password}`,
      async verify(stored: string | null, password: string) {
        verified.push(stored);
        await hooks.afterVerify();
        return stored === `hash:${password}`;
      },
    },
    limits,
  };
  const signIn = createSignIn(deps);
  const registration = createRegistration({ ...deps, registration: "open", isMailed: false });
  async function madeBy(account: NewAccount) {
    const registered = await registration.register(account, "192.0.2.1");
    assert.ok("made" in registered);
    return registered.made;
  }
  const email = "owner@example.com";
  const account = await madeBy({ email, password: PASSWORD, teamName: "a team" });
  const login = (credentials: { email: string; password: string; teamId?: string }) =>
    signIn.login({ teamId: null, ...credentials }, "192.0.2.1");
  const register = (address: string, password = PASSWORD) =>
    madeBy({ email: address, password, teamName: "another team" });
  return { sql, verified, hooks, limits, email, account, login, register };
}

const refused = { code: "invalid_credentials" };

describe("a sign-in", () => {
  it("verifies one password in every case, also for an account without one", async (t) => {
    const { sql, verified, email, login } = await setUp(t);
    await sql`insert into users (id, email) values ('usr_bare', 'bare@example.com')`;
    await sql`insert into users (id, email, password_hash) values ('usr_alone', 'alone@example.com', ${`hash:${PASSWORD}`})`;
    const attempts: [string, string | null][] = [
      [email, `hash:${PASSWORD}`],
      ["nobody@example.com", null],
      ["bare@example.com", null],
      ["alone@example.com", `hash:${PASSWORD}`],
      ["no address", null],
    ];
    for (const [address, stored] of attempts) {
      const password = address === email ? "a wrong password" : PASSWORD;
      await assert.rejects(login({ email: address, password }), refused);
      assert.deepEqual(verified.splice(0), [stored], address);
    }
  });

  it("begins no session when the password, the membership or the team goes meanwhile", async (t) => {
    const { sql, hooks, email, account, login } = await setUp(t);
    const { id: userId } = account.user;
    const changes = [
      () => sql`update users set password_hash = 'hash:other' where id = ${userId}`,
      () => sql`delete from memberships where user_id = ${userId}`,
      () => sql`delete from teams where id = ${account.team.id}`,
    ];
    for (const change of changes) {
      hooks.afterVerify = async () => void (await change());
      await assert.rejects(login({ email, password: PASSWORD }), refused);
      await sql`update users set password_hash = ${`hash:${PASSWORD}`} where id = ${userId}`;
      await sql`
        insert into memberships (team_id, user_id, role)
        select id, ${userId}, 'owner' from teams where id = ${account.team.id} on conflict do nothing`;
    }
    const [row] = await sql<
      [{ count: number }]
    >`select count(*)::int from sessions where user_id = ${userId}`;
    assert.equal(row.count, 0);
  });
});

describe("registering an address that has an account", () => {
  const exists = { code: "account_exists" };

  it("verifies one password, whatever the account is like", async (t) => {
    const { sql, verified, email, register } = await setUp(t);
    await sql`insert into users (id, email) values ('usr_bare', 'bare@example.com')`;
    await sql`
      insert into users (id, email, password_hash) values ('usr_alone', 'alone@example.com', 'hash:other password')`;
    for (const [address, stored] of [
      [email, `hash:${PASSWORD}`],
      ["bare@example.com", null],
      ["alone@example.com", "hash:other password"],
    ] as const) {
      await assert.rejects(register(address), exists);
      assert.deepEqual(verified.splice(0), [stored], address);
    }
  });

  it("counts as signing in does, and proves the address when it makes or brings back an account", async (t) => {
    const { sql, limits, email, account, register } = await setUp(t);
    assert.equal((await limits.signIn(email, "192.0.2.1")).standing, "known");
    await sql`delete from teams where id = ${account.team.id}`;
    const fail = () => register(email, "a wrong password");
    for (let i = 1; i < LIMITS.portal.signInPerPair; i++) await assert.rejects(fail(), exists);
    await assert.rejects(fail(), { code: "rate_limited" });
    await assert.rejects(register(email), { code: "rate_limited" });
  });

  it("gives no team when the password changes or a team is joined meanwhile", async (t) => {
    const { sql, hooks, email, account, register } = await setUp(t);
    await sql`delete from teams where id = ${account.team.id}`;
    const changes = [
      () => sql`update users set password_hash = 'hash:other' where id = ${account.user.id}`,
      async () => {
        await sql`insert into teams (id, name, tier) values ('team_x', 'x', 'free')`;
        await sql`
          insert into memberships (team_id, user_id, role) values ('team_x', ${account.user.id}, 'member')`;
      },
    ];
    for (const change of changes) {
      hooks.afterVerify = async () => void (await change());
      await assert.rejects(register(email), exists);
      await sql`update users set password_hash = ${`hash:${PASSWORD}`}`;
    }
    const [row] = await sql<[{ count: number }]>`select count(*)::int from teams`;
    assert.equal(row.count, 1);
  });
});
