import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { hashSecret, newSecret } from "../../../../src/features/identity/api-key.ts";
import { type Process, startProcess } from "../../../support/credential-process.ts";
import { testRedisUrl } from "../../../support/embedded.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

const { sql, url } = await useDatabase();
const stores = { databaseUrl: url, redisUrl: await testRedisUrl() };

function bearer(secret: string): string {
  return `Bearer ${secret}`;
}

/** Waits in real time for messages on other sockets; fake clocks do not move. */
const eventually = (condition: () => boolean) => until("what other sockets deliver", condition);

async function ask(process: Process, secret: string): Promise<Actor> {
  return process.authenticator.authenticate(bearer(secret));
}

/** Revokes by SQL, as the operator might: the database records it, but no process announces it. */
async function revokeSilently(secret: string): Promise<void> {
  await sql`update api_keys set revoked_at = now() where hash = ${Buffer.from(hashSecret(secret), "hex")}`;
}

function isCached(process: Process, secret: string): boolean {
  try {
    const answer = process.authenticator.authenticate(bearer(secret));
    if (!(answer instanceof Promise)) return true;
    answer.catch(() => undefined);
  } catch {
    // Refused at once: not cached as good.
  }
  return false;
}

describe("authentication", () => {
  it("identifies the caller by live key, test key and session; synchronously the second time", async (t) => {
    const process = await startProcess(t, stores);
    const team = await newTeam(sql, "pro");
    assert.equal(process.authenticator.isKnown(bearer(team.liveKey)), false, "it is not looked up for that");
    const live = await ask(process, team.liveKey);
    assert.equal(live.teamId, team.teamId);
    assert.equal(live.userId, team.userId);
    assert.equal(live.role, "owner");
    assert.equal(live.tier, "pro");
    assert.equal(live.livemode, true);
    assert.equal((await ask(process, team.testKey)).livemode, false);
    assert.equal((await ask(process, team.sessionToken)).livemode, true);
    assert.equal(process.authenticator.authenticate(bearer(team.liveKey)), live);
    assert.equal(process.authenticator.authenticate(`bearer  ${team.liveKey} `), live);
    for (const secret of [team.liveKey, team.sessionToken])
      assert.equal(process.authenticator.isKnown(bearer(secret)), true);
  });

  it("refuses an invalid credential, without a look-up where its form is wrong", async (t) => {
    const process = await startProcess(t, stores);
    const { liveKey } = await newTeam(sql);
    const typo = liveKey.slice(0, -8) + (liveKey.at(-8) === "a" ? "b" : "a") + liveKey.slice(-7);
    const formless = ["", "Basic Zm9vOmJhcg==", "Bearer", "Bearer x", bearer(typo), bearer(`${liveKey}x`)];
    for (const header of formless)
      assert.throws(() => process.authenticator.authenticate(header), { code: "unauthorized" });
    const stranger = newSecret("live");
    await assert.rejects(ask(process, stranger), { code: "unauthorized" });
    assert.throws(() => process.authenticator.authenticate(bearer(stranger)), { code: "unauthorized" });
    for (const header of [...formless, bearer(stranger)])
      assert.equal(process.authenticator.isKnown(header), false);
  });

  it("carries the operator's limits and the team's blocklist", async (t) => {
    const process = await startProcess(t, stores);
    const team = await newTeam(sql, "starter");
    await sql`update teams set limits = ${sql.json({ dailyQuota: 7, ratePerS: 0, nonsense: 1, refresh: "yes" })}
      where id = ${team.teamId}`;
    await sql`insert into blocklist (team_id, domain, include_subdomains)
      values (${team.teamId}, 'bad.example', true), (${team.teamId}, 'only.example', false)`;
    const { limits, overlay } = await ask(process, team.liveKey);
    assert.equal(limits.dailyQuota, 7);
    assert.equal(limits.ratePerS, 10, "a rate of 0 is no rate");
    assert.equal(limits.refresh, false);
    assert.deepEqual(
      ["bad.example", "x.bad.example", "notbad.example", "only.example", "x.only.example"].map((domain) =>
        overlay.isBlocked(domain),
      ),
      [true, true, false, true, false],
    );
  });

  it("gives a key the lower of its own and its user's role, and no user once that has left", async (t) => {
    const process = await startProcess(t, stores);
    const team = await newTeam(sql);
    await sql`update memberships set role = 'admin' where team_id = ${team.teamId}`;
    assert.equal((await ask(process, team.liveKey)).role, "admin");
    await sql`delete from memberships where team_id = ${team.teamId}`;
    process.authenticator.invalidate({ kind: "team", subject: team.teamId });
    const orphan = await ask(process, team.liveKey);
    assert.deepEqual([orphan.role, orphan.userId], ["member", null]);
  });

  it("ends the sessions of a user who has left the team, and not those in other teams", async (t) => {
    const process = await startProcess(t, stores);
    const [team, other] = [await newTeam(sql), await newTeam(sql)];
    await ask(process, team.sessionToken);
    await sql`insert into memberships (team_id, user_id, role) values (${other.teamId}, ${team.userId}, 'member')`;
    await sql`update sessions set user_id = ${team.userId} where team_id = ${other.teamId}`;
    await sql`delete from memberships where team_id = ${team.teamId}`;
    process.authenticator.invalidate({ kind: "team", subject: team.teamId });
    await assert.rejects(ask(process, team.sessionToken), { code: "unauthorized" });
    const elsewhere = await ask(process, other.sessionToken);
    assert.deepEqual([elsewhere.userId, elsewhere.role], [team.userId, "member"]);
  });

  it("asks Postgres once for many requests that come at once", async (t) => {
    const process = await startProcess(t, stores);
    const { liveKey } = await newTeam(sql);
    const answers = Array.from({ length: 50 }, () => process.authenticator.authenticate(bearer(liveKey)));
    assert.equal(new Set(answers).size, 1);
    await answers[0];
  });

  it("ends a session when its time is over", async (t) => {
    const process = await startProcess(t, stores);
    const team = await newTeam(sql);
    await sql`update sessions set expires_at = clock_timestamp() + interval '30 seconds' where team_id = ${team.teamId}`;
    await ask(process, team.sessionToken);
    await sql`update sessions set expires_at = clock_timestamp() where team_id = ${team.teamId}`;
    await process.clock.advanceAsync(25_000);
    await process.authenticator.poll();
    await process.clock.advanceAsync(5_000);
    await assert.rejects(ask(process, team.sessionToken), { code: "unauthorized" });
  });
});

describe("a credential that changes", () => {
  it("is refused in another process as soon as the bus has announced it", async (t) => {
    const [a, b] = [await startProcess(t, stores), await startProcess(t, stores)];
    await eventually(() => a.bus.session !== null && b.bus.session !== null);
    const { liveKey, teamId } = await newTeam(sql);
    await Promise.all([ask(a, liveKey), ask(b, liveKey)]);
    await a.publisher.transact(async (tx) => {
      await tx`update api_keys set revoked_at = now() where team_id = ${teamId}`;
    });
    assert.equal(a.authenticator.isKnown(bearer(liveKey)), false);
    assert.equal(isCached(a, liveKey), false, "its own process knows at once");
    await eventually(() => !isCached(b, liveKey));
    await assert.rejects(ask(b, liveKey), { code: "unauthorized" });
  });

  it("is refused within a second in a process whose Redis is down", async (t) => {
    const process = await startProcess(t, stores);
    const { liveKey } = await newTeam(sql);
    process.redis.shut();
    await ask(process, liveKey);
    await process.authenticator.poll();
    await revokeSilently(liveKey);
    await process.clock.advanceAsync(LIMITS.keys.pollMs);
    await process.authenticator.poll();
    assert.ok(process.clock.monotonic() <= LIMITS.keys.confirmMs);
    await assert.rejects(ask(process, liveKey), { code: "unauthorized" });
  });

  it("is looked up again after a second in which nothing was confirmed", async (t) => {
    const process = await startProcess(t, stores);
    const { liveKey } = await newTeam(sql);
    await ask(process, liveKey);
    process.redis.shut();
    process.postgres.shut();
    await process.clock.advanceAsync(LIMITS.keys.confirmMs - 1);
    assert.equal(isCached(process, liveKey), true);
    await process.clock.advanceAsync(1);
    await assert.rejects(ask(process, liveKey), { code: "unavailable" });
    process.postgres.open();
    await eventually(() => isCached(process, liveKey));
  });

  it("with a team change, alters what all the team's credentials say", async (t) => {
    const process = await startProcess(t, stores);
    const team = await newTeam(sql, "free");
    assert.equal((await ask(process, team.liveKey)).tier, "free");
    assert.equal((await ask(process, team.testKey)).tier, "free");
    await process.publisher.transact(async (tx) => {
      await tx`update teams set tier = 'pro' where id = ${team.teamId}`;
    });
    assert.equal((await ask(process, team.liveKey)).tier, "pro");
    assert.equal((await ask(process, team.testKey)).tier, "pro");
  });

  it("among more changes than are announced one by one, applies at once here, and elsewhere as soon as announced", async (t) => {
    const [one, two] = [await startProcess(t, stores), await startProcess(t, stores)];
    const team = await newTeam(sql);
    await sql`
      insert into api_keys (id, team_id, user_id, label, env, role, hash, prefix, last4)
      select ${team.teamId} || n, ${team.teamId}, ${team.userId}, 'many', 'live', 'member',
             sha256((${team.teamId} || n)::bytea), 'rcpt_live_0000', '0000'
      from generate_series(1, ${LIMITS.keys.changesPerPoll * 10}) n`;
    const secrets = [team.liveKey, team.testKey, team.sessionToken];
    for (const process of [one, two]) for (const secret of secrets) await ask(process, secret);
    await one.publisher.transact((tx) => tx`delete from teams where id = ${team.teamId}`);
    for (const secret of secrets) assert.equal(isCached(one, secret), false);
    await eventually(() => secrets.every((secret) => !isCached(two, secret)));
  });

  it("is not announced when its transaction fails", async (t) => {
    const process = await startProcess(t, stores);
    const { liveKey, teamId } = await newTeam(sql);
    await ask(process, liveKey);
    const failing = process.publisher.transact(async (tx) => {
      await tx`update teams set tier = 'pro' where id = ${teamId}`;
      throw new Error("rolled back");
    });
    await assert.rejects(failing, /rolled back/);
    assert.equal(isCached(process, liveKey), true);
  });
});

describe("a Postgres that is away", () => {
  it("does not fail cached credentials while the bus vouches for them, but not without end", async (t) => {
    const process = await startProcess(t, stores);
    await eventually(() => process.bus.session !== null);
    const { liveKey } = await newTeam(sql);
    // The new team is itself a change: read it before the key is cached.
    await process.authenticator.poll();
    await ask(process, liveKey);
    // The poll that finds the subscription up; from here the bus may vouch.
    await process.authenticator.poll();
    process.postgres.shut();
    for (let elapsed = 0; elapsed < 5_000; elapsed += LIMITS.keys.pollMs) {
      await process.clock.advanceAsync(LIMITS.keys.pollMs);
      await process.authenticator.poll();
      assert.equal(isCached(process, liveKey), true, `after ${elapsed} ms`);
    }
    process.redis.shut();
    await eventually(() => process.bus.session === null);
    process.redis.open();
    await eventually(() => process.bus.session !== null);
    // The new subscription misses messages that were published before it.
    for (let elapsed = 0; elapsed < LIMITS.keys.confirmMs; elapsed += LIMITS.keys.pollMs) {
      await process.clock.advanceAsync(LIMITS.keys.pollMs);
      await process.authenticator.poll();
    }
    await assert.rejects(ask(process, liveKey), { code: "unavailable" });
  });
});

describe("the time a key was last used", () => {
  it("is recorded once a minute at most, outside of requests", async (t) => {
    const process = await startProcess(t, stores);
    const team = await newTeam(sql);
    const lastUsed = async () => {
      const [row] = await sql<[{ at: Date | null }]>`
        select last_used_at as at from api_keys where team_id = ${team.teamId} and env = 'live'`;
      return row.at;
    };
    await ask(process, team.liveKey);
    assert.equal(await lastUsed(), null);
    await process.authenticator.stop();
    const noted = await lastUsed();
    assert.ok(noted instanceof Date);
    await ask(process, team.liveKey);
    await process.authenticator.stop();
    assert.deepEqual(await lastUsed(), noted);
  });
});
