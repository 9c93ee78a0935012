import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { hashSecret, newSecret } from "../../../../src/features/identity/api-key.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { type Process, startProcess } from "../../../support/credential-process.ts";
import { testRedisUrl } from "../../../support/embedded.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

const { sql, url } = await useDatabase();
const stores = { databaseUrl: url, redisUrl: await testRedisUrl() };

async function ask(process: Process, secret: string): Promise<Actor> {
  return process.authenticator.authenticate(`Bearer ${secret}`);
}

/** Waits in real time for messages on other sockets; fake clocks do not move. */
const eventually = (condition: () => boolean) => until("what other sockets deliver", condition);

describe("a team of 9,000 blocked domains and 300 keys", () => {
  const BLOCKED = 9_000;
  const KEYS = 300;

  async function newLargeTeam() {
    const team = await newTeam(sql, "pro");
    await sql`insert into blocklist (team_id, domain)
      select ${team.teamId}, 'd' || n || '.test' from generate_series(1, ${BLOCKED}) n`;
    const secrets = Array.from({ length: KEYS }, () => newSecret("live"));
    await sql`insert into api_keys (id, team_id, user_id, env, label, role, hash, prefix, last4)
      select 'key_' || hash, ${team.teamId}, ${team.userId}, 'live', 'one of many', 'owner',
             decode(hash, 'hex'), 'rcpt_live_', '0000'
      from jsonb_array_elements_text(${sql.json(secrets.map(hashSecret))}) hash`;
    return { ...team, secrets };
  }

  it("has its lists read once for all of them, and a change of one domain read as one row", async (t) => {
    const { teamId, secrets } = await newLargeTeam();
    const process = await startProcess(t, stores);
    const actors = await Promise.all(secrets.map((secret) => ask(process, secret)));
    const pages = Math.ceil(BLOCKED / LIMITS.keys.domainsPerPage);
    const loaded = { credentials: KEYS, listPages: pages, listRows: BLOCKED, listDifferences: 0 };
    assert.deepEqual(process.reads, loaded);
    assert.ok(actors.every(({ overlay }) => overlay === actors[0]?.overlay));
    assert.equal(actors[0]?.overlay.isBlocked("d9000.test"), true);

    // By SQL, so that only the feed reports it.
    await sql`insert into blocklist (team_id, domain) values (${teamId}, 'new.test')`;
    await sql`delete from blocklist where team_id = ${teamId} and domain = 'd1.test'`;
    await process.authenticator.poll();
    const again = await Promise.all(secrets.map((secret) => ask(process, secret)));
    assert.deepEqual(again, actors);
    const { overlay } = again[0] as Actor;
    assert.deepEqual([overlay.isBlocked("x.new.test"), overlay.isBlocked("d1.test")], [true, false]);
    assert.equal(process.reads.credentials, KEYS, "no key is stale");
    assert.equal(process.reads.listPages, pages);
    assert.equal(process.reads.listRows, BLOCKED + 1);

    await sql`update api_keys set revoked_at = now() where hash = ${Buffer.from(hashSecret(secrets[0] as string), "hex")}`;
    await process.authenticator.poll();
    await assert.rejects(ask(process, secrets[0] as string), { code: "unauthorized" });
    await ask(process, secrets[1] as string);
    assert.equal(process.reads.credentials, KEYS + 1);
    assert.equal(process.reads.listPages, pages);
  });

  it("is answered by the change of another process as soon as the bus has announced it", async (t) => {
    const { teamId, secrets } = await newLargeTeam();
    const [a, b] = [await startProcess(t, stores), await startProcess(t, stores)];
    await eventually(() => a.bus.session !== null && b.bus.session !== null);
    const [secret] = secrets as [string];
    const { overlay } = await ask(b, secret);
    await a.publisher.transact(async (tx) => {
      await tx`insert into blocklist (team_id, domain) values (${teamId}, 'new.test')`;
    });
    await eventually(() => overlay.isBlocked("new.test"));
    assert.equal((await ask(b, secret)).overlay.isBlocked("new.test"), true);
    assert.deepEqual([b.reads.credentials, b.reads.listDifferences], [1, 1]);
  });

  it("is answered by none of its lists while a change of them cannot be read", async (t) => {
    const { teamId, secrets } = await newLargeTeam();
    const [process, other] = [await startProcess(t, stores), await startProcess(t, stores)];
    await eventually(() => process.bus.session !== null);
    const [secret] = secrets as [string];
    await ask(process, secret);
    process.postgres.shut();
    await other.publisher.transact(async (tx) => {
      await tx`insert into blocklist (team_id, domain) values (${teamId}, 'new.test')`;
    });
    const answer = () => ask(process, secret).catch((error: AppError) => error);
    const refused = await until("its change was noted", async () => {
      const answered = await answer();
      return answered instanceof AppError && answered;
    });
    assert.equal(refused.code, "unavailable");
    process.postgres.open();
    const actor = await until("Postgres is there again", () => ask(process, secret).catch(() => null));
    assert.equal(actor.overlay.isBlocked("new.test"), true);
  });

  it("has its lists read again, whole, after a statement that changed more than a note names", async (t) => {
    const { teamId, secrets } = await newLargeTeam();
    const process = await startProcess(t, stores);
    const [secret] = secrets as [string];
    const { overlay } = await ask(process, secret);
    const { listPages } = process.reads;
    await sql`delete from blocklist where team_id = ${teamId} and domain like 'd1%'`;
    await process.authenticator.poll();
    await ask(process, secret);
    assert.deepEqual([overlay.isBlocked("d1.test"), overlay.isBlocked("d2.test")], [false, true]);
    assert.deepEqual([process.reads.credentials, process.reads.listDifferences], [1, 0]);
    assert.ok(process.reads.listPages > listPages);
  });
});
