import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashSecret } from "../../../../src/features/identity/api-key.ts";
import { insertUser } from "../../../../src/features/identity/users.ts";
import { bootstrap } from "../../../../src/features/teams/bootstrap.ts";
import { OperationError } from "../../../../src/features/teams/operations.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { useDatabase } from "../../../support/store.ts";

const { sql } = await useDatabase();

describe("bootstrap", () => {
  it("makes an owner, a team of the tier, a session and both keys, and stores no secret", async () => {
    const made = await bootstrap(sql, { email: "Owner@Example.com", team: "Acme", tier: "enterprise" });
    const [team] = await sql`
      select t.name, t.tier, m.role, u.email, u.password_hash
      from teams t join memberships m on m.team_id = t.id join users u on u.id = m.user_id
      where t.id = ${made.teamId} and u.id = ${made.userId}`;
    assert.deepEqual(
      { ...team },
      {
        name: "Acme",
        tier: "enterprise",
        role: "owner",
        email: "Owner@Example.com",
        password_hash: null,
      },
    );
    const keys = await sql<{ env: string; hash: Buffer; prefix: string; last4: string }[]>`
      select env, hash, prefix, last4 from api_keys where team_id = ${made.teamId} order by env`;
    assert.deepEqual(
      keys.map((key) => [key.env, key.hash.toString("hex"), key.prefix + key.last4]),
      [
        ["live", hashSecret(made.liveKey), made.liveKey.slice(0, 14) + made.liveKey.slice(-4)],
        ["test", hashSecret(made.testKey), made.testKey.slice(0, 14) + made.testKey.slice(-4)],
      ],
    );
    const [session] = await sql<[{ hash: Buffer; days: number }]>`
      select hash, round(extract(epoch from expires_at - now()) / 86400)::integer as days
      from sessions where team_id = ${made.teamId}`;
    assert.equal(session.hash.toString("hex"), hashSecret(made.sessionToken));
    assert.equal(session.days, 30);
  });

  it("gives no team to an account registered before with the address, and leaves nothing behind", async () => {
    const squatter = { id: newId("usr"), email: "ceo@example.com", passwordHash: "his" };
    await sql.begin((tx) => insertUser(tx, squatter));
    const before = await sql`select count(*) from teams`;
    const asked = bootstrap(sql, { email: "CEO@example.com", team: "Acme", tier: "enterprise" });
    await assert.rejects(asked, (error: Error) => {
      assert.ok(error instanceof OperationError);
      assert.match(error.message, /^[^\n]*has an unverified account already[^\n]*--existing-user[^\n]*$/);
      return true;
    });
    assert.deepEqual(await sql`select count(*) from teams`, before);
    assert.equal((await sql`select from memberships where user_id = ${squatter.id}`).length, 0);
  });

  it("makes one team of those that are asked for an address at once", async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 4 }, () => bootstrap(sql, { email: "once@example.com", team: "t", tier: "free" })),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  });

  it("gives an existing user another team when told to, also when two ask at once", async () => {
    const made = await Promise.all(
      ["one@example.com", "ONE@example.com", "one@example.com"].map((email, i) =>
        bootstrap(sql, { email, team: `team ${i}`, tier: "free", existingUser: true }),
      ),
    );
    assert.equal(new Set(made.map((result) => result.userId)).size, 1);
    assert.equal(new Set(made.map((result) => result.teamId)).size, 3);
  });

  it("leaves nothing behind when it fails", async () => {
    const before = await sql`select count(*) from teams`;
    await assert.rejects(bootstrap(sql, { email: "x", team: "short address", tier: "free" }));
    assert.deepEqual(await sql`select count(*) from teams`, before);
  });
});
