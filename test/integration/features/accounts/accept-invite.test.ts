import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createAcceptInvite } from "../../../../src/features/accounts/accept-invite.ts";
import { createLocalCounters } from "../../../../src/features/accounts/attempt-counters.ts";
import { insertInvite } from "../../../../src/features/accounts/invite-sql.ts";
import { createPortalLimits } from "../../../../src/features/accounts/portal-limits.ts";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { hashSecret, newSecret } from "../../../../src/features/identity/api-key.ts";
import { insertUser } from "../../../../src/features/identity/users.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { newTeam, openDatabase, silentLog } from "../../../support/store.ts";

const PASSWORD = "correct horse battery";
const HOME = "192.0.2.1";

/** Invitations with passwords that are "hashed" by a prefix, so that what a token costs can be counted. */
async function setUp(t: TestContext) {
  const { sql } = await openDatabase(t);
  const { teamId, userId } = await newTeam(sql);
  const work = { hashed: 0, verified: 0 };
  const limits = createPortalLimits(createLocalCounters(createFakeClock()));
  const acceptInvite = createAcceptInvite({
    sql,
    publisher: createChangePublisher({
      sql,
      bus: { announce: async () => undefined },
      log: silentLog,
      invalidate: () => undefined,
    }),
    passwords: {
      async hash(password) {
        work.hashed++;
        return `hash:${password}`;
      },
      async verify(stored, password) {
        work.verified++;
        return stored === `hash:${password}`;
      },
    },
    limits,
    registration: "invite",
  });
  return {
    sql,
    teamId,
    work,
    limits,
    /** @param isShown the token is the one shown to the inviter, and another one is mailed */
    async invite(email: string, { isShown = false } = {}): Promise<string> {
      const token = newSecret("inv");
      const own = Buffer.from(hashSecret(token), "hex");
      const [hash, shownHash] = isShown
        ? [Buffer.from(hashSecret(newSecret("inv")), "hex"), own]
        : [own, null];
      const id = newId("inv");
      await sql.begin((tx) =>
        insertInvite(tx, { id, teamId, email, role: "member", invitedBy: userId, hash, shownHash }),
      );
      return token;
    },
    accept: (token: string, password: string | null) =>
      acceptInvite({ token, password, actor: null, clientAddress: HOME }),
  };
}

async function fillTeam(sql: Awaited<ReturnType<typeof setUp>>["sql"], teamId: string): Promise<void> {
  await sql`
    with people as (
      insert into users (id, email) select 'usr_' || i, i || '@full.example'
      from generate_series(2, ${LIMITS.team.members}) i returning id
    )
    insert into memberships (team_id, user_id, role) select ${teamId}, id, 'member' from people`;
}

describe("accepting an invitation without an account", () => {
  it("costs no hash once the team is full, and a bounded number by one client", async (t) => {
    const { sql, teamId, work, invite, accept } = await setUp(t);
    const token = await invite("new@example.com");
    await fillTeam(sql, teamId);
    for (let i = 0; i < LIMITS.portal.signInPerPair; i++)
      await assert.rejects(accept(token, PASSWORD), { code: "limit_reached" });
    await assert.rejects(accept(token, PASSWORD), { code: "rate_limited" });
    assert.deepEqual(work, { hashed: 0, verified: 0 });
  });

  it("makes the client known to the account", async (t) => {
    const { limits, invite, accept } = await setUp(t);
    const email = "new@example.com";
    assert.equal((await accept(await invite(email), PASSWORD)).user.email, email);
    assert.equal((await limits.signIn(email, HOME)).standing, "known");
    assert.equal((await limits.signIn(email, "192.0.2.2")).standing, "unknown");
  });
});

describe("the token of an invitation", () => {
  it("does not tell whether the address has an account, short of a password for it", async (t) => {
    const { sql, work, invite, accept } = await setUp(t);
    const user = { id: newId("usr"), email: "known@example.com", passwordHash: `hash:${PASSWORD}` };
    await sql.begin((tx) => insertUser(tx, user));
    const [known, unknown] = [await invite(user.email), await invite("unknown@example.com")];
    const refusal = (token: string, password: string | null) =>
      accept(token, password).then(
        () => assert.fail("it was accepted"),
        (error: Error) => JSON.stringify({ ...error, message: error.message }),
      );
    for (const password of [null, "", "short", "x".repeat(300), `has a NUL in it \0`]) {
      const answer = await refusal(known, password);
      assert.match(answer, /validation_failed/);
      assert.equal(await refusal(unknown, password), answer);
    }
    // The same work for both, of each password but null.
    assert.deepEqual(work, { hashed: 0, verified: 8 });
    assert.match(await refusal(known, "a wrong password"), /invalid_credentials/);
  });

  it("that the inviter is shown makes no account, and does not reveal whether there is one", async (t) => {
    const { sql, work, invite, accept } = await setUp(t);
    const user = { id: newId("usr"), email: "known@example.com", passwordHash: `hash:${PASSWORD}` };
    await sql.begin((tx) => insertUser(tx, user));
    const known = await invite(user.email, { isShown: true });
    const unknown = await invite("unknown@example.com", { isShown: true });
    const refusal = (token: string, password: string) =>
      accept(token, password).then(
        () => assert.fail("it was accepted"),
        (error: Error) => JSON.stringify({ ...error, message: error.message }),
      );
    for (const password of ["a wrong long password", "short"])
      assert.equal(await refusal(known, password), await refusal(unknown, password));
    assert.deepEqual(work, { hashed: 0, verified: 4 });
    assert.match(await refusal(unknown, PASSWORD), /invalid_credentials/);
    assert.equal((await accept(known, PASSWORD)).user.id, user.id);
  });
});
