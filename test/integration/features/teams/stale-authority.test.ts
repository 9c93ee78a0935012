import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { createBlocklist } from "../../../../src/features/blocklist/blocklist.ts";
import { type Actor, MEMBER_ROLES } from "../../../../src/features/identity/actor.ts";
import { createOverrides } from "../../../../src/features/overrides/overrides.ts";
import { readDomains } from "../../../../src/features/overrides/read-domains.ts";
import { createKeys } from "../../../../src/features/teams/keys.ts";
import { createMembers } from "../../../../src/features/teams/members.ts";
import { createTeam } from "../../../../src/features/teams/team.ts";
import { createWebhooks } from "../../../../src/features/webhooks/webhooks.ts";
import { createSecretBox } from "../../../../src/platform/secret-box.ts";
import { actorFor, newTeam, silentLog, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

/**
 * Authentication may answer from a memory that is a second old. Nothing that outlasts the request is given, changed or
 * taken away on what it remembers alone.
 */
const { sql } = await useDatabase();
const bus = { announce: async () => undefined };
const publisher = createChangePublisher({ sql, bus, log: silentLog, invalidate: () => undefined });

interface Case {
  actor: Actor;
  userId: string;
}
let byKey: Case;
let bySession: Case;
beforeEach(async () => {
  const { teamId, userId } = await newTeam(sql, "enterprise");
  const [key] = await sql<[{ id: string }]>`
    select id from api_keys where team_id = ${teamId} and env = 'live'`;
  const [session] = await sql<[{ id: string }]>`select id from sessions where team_id = ${teamId}`;
  const owner = { userId, role: "owner", tier: "enterprise" } as const;
  const limits = { webhooks: true };
  byKey = { userId, actor: actorFor(teamId, limits, { ...owner, keyId: key.id }) };
  bySession = { userId, actor: actorFor(teamId, limits, { ...owner, keyId: session.id, isSession: true }) };
});

const WH = "wh_01h455vb4pex5vsknk084sn02q";
const URL = "https://hooks.example.com/rcpt";

/** Everything that lasts, by the least role that may do it. */
const deeds = (
  actor: Actor,
): Record<string, readonly [least: Actor["role"], deed: () => Promise<unknown>]> => {
  const keys = createKeys({ sql, publisher });
  const team = createTeam({ sql, publisher });
  const members = createMembers({ publisher });
  const blocklist = createBlocklist({ sql, publisher });
  const overrides = createOverrides({ sql, publisher, readDomains: async (texts) => readDomains(texts) });
  const box = createSecretBox(Buffer.alloc(32, 7));
  const webhooks = createWebhooks({ sql, box, privateAddresses: false });
  return {
    "a key is made": ["admin", () => keys.create(actor, { label: "heir", env: "live" })],
    "a key is revoked": ["admin", () => keys.revoke(actor, "key_01h455vb4pex5vsknk084sn02q")],
    "the team is renamed": ["admin", () => team.rename(actor, "taken")],
    "a domain is blocked": [
      "admin",
      () => blocklist.add(actor, { domain: "rival.example", includeSubdomains: true }),
    ],
    "a domain is unblocked": ["admin", () => blocklist.remove(actor, "blocked.example")],
    "a domain is called disposable": ["owner", () => overrides.submit(actor, ["rival.example"])],
    "a domain is called disposable no more": ["owner", () => overrides.remove(actor, "blocked.example")],
    "a webhook is made": ["admin", () => webhooks.create(actor, { url: URL })],
    "a webhook is changed": ["admin", () => webhooks.update(actor, WH, { url: URL })],
    "a webhook is removed": ["admin", () => webhooks.remove(actor, WH)],
    "a webhook gets a new secret": ["admin", () => webhooks.rotateSecret(actor, WH)],
    "the team gets a new secret": ["admin", () => webhooks.rotateTeamSecret(actor)],
    "a role is changed": ["admin", () => members.setRole(actor, actor.userId ?? "", "owner")],
    "the team is deleted": ["owner", () => team.remove(actor)],
  };
};

/** Creates the rows that are to be changed. */
async function furnish({ teamId }: Actor): Promise<void> {
  await sql`
    insert into webhooks (id, team_id, url, description, secret) values (${WH}, ${teamId}, ${URL}, '', '\\x00')
    on conflict (id) do update set team_id = excluded.team_id`;
  await sql`insert into blocklist (team_id, domain) values (${teamId}, 'blocked.example')`;
  await sql`
    insert into disposable_overrides (id, team_id, domain)
    values (${`ovr_${teamId.slice("team_".length)}`}, ${teamId}, 'blocked.example')`;
}

/** Everything of the team that an operation could change. */
async function stateOf({ teamId }: Actor): Promise<unknown> {
  return sql`
    select t.name,
      (select jsonb_agg(k.id order by id) from api_keys k where k.team_id = t.id) as keys,
      (select jsonb_agg(b.domain order by domain) from blocklist b where b.team_id = t.id) as blocked,
      (select jsonb_agg(o.domain order by domain) from disposable_overrides o where o.team_id = t.id) as overrides,
      (select jsonb_agg(to_jsonb(w) order by id) from webhooks w where w.team_id = t.id) as webhooks,
      (select count(*) from team_webhook_secrets s where s.team_id = t.id) as secrets
    from teams t where t.id = ${teamId}`;
}

/** Does everything, and expects each to end with the code; nothing may have changed. */
async function refused({ actor }: Case, code: string, mayDo: Actor["role"] | null): Promise<void> {
  await furnish(actor);
  const before = await stateOf(actor);
  for (const [name, [least, deed]] of Object.entries(deeds(actor))) {
    if (mayDo !== null && MEMBER_ROLES.indexOf(mayDo) >= MEMBER_ROLES.indexOf(least)) continue;
    await assert.rejects(deed(), { code }, name);
  }
  assert.deepEqual(await stateOf(actor), before);
}

describe("a caller who was authenticated a moment ago", () => {
  it("by a key that was revoked meanwhile does nothing that lasts", async () => {
    await sql`update api_keys set revoked_at = now() where id = ${byKey.actor.keyId}`;
    await refused(byKey, "unauthorized", null);
  });

  it("by a key that has lost its user since, though the user is back", async () => {
    await sql`update api_keys set user_id = null where id = ${byKey.actor.keyId}`;
    await refused(byKey, "unauthorized", null);
  });

  it("by a session that was ended", async () => {
    await sql`delete from sessions where id = ${bySession.actor.keyId}`;
    await refused(bySession, "unauthorized", null);
  });

  it("by a session that has expired", async () => {
    await sql`update sessions set expires_at = clock_timestamp() where id = ${bySession.actor.keyId}`;
    await refused(bySession, "unauthorized", null);
  });

  it("as a member who has left", async () => {
    await sql`delete from memberships where user_id = ${bySession.userId}`;
    await refused(bySession, "unauthorized", null);
  });

  it("as an owner, and is a member now", async () => {
    await sql`update memberships set role = 'member' where user_id = ${bySession.userId}`;
    await refused(bySession, "insufficient_role", "member");
  });

  it("as an owner, and is an admin now: what owners do is refused", async () => {
    await sql`update memberships set role = 'admin' where user_id = ${byKey.userId}`;
    await refused(byKey, "insufficient_role", "admin");
  });

  it("by what is still good does all of it", async () => {
    for (const { actor } of [byKey, bySession]) {
      await sql`update teams set name = 'mine' where id = ${actor.teamId}`;
      await createTeam({ sql, publisher }).rename(actor, "still mine");
      assert.equal((await createTeam({ sql, publisher }).get(actor)).name, "still mine");
      assert.equal(
        (await createKeys({ sql, publisher }).create(actor, { label: "k", env: "live" })).env,
        "live",
      );
    }
  });
});

describe("the end of a credential and what it makes at that moment", () => {
  it("wait for one another: nothing is made after the end", async () => {
    const { actor } = bySession;
    const keys = createKeys({ sql, publisher });
    const outcome = await sql.begin(async (tx) => {
      await tx`delete from sessions where id = ${actor.keyId}`;
      const late = Promise.allSettled([keys.create(actor, { label: "heir", env: "live" })]);
      await until("it waits", async () => {
        const waiting = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return waiting.length > 0;
      });
      return { late };
    });
    const [made] = await outcome.late;
    assert.equal(made.status === "rejected" && made.reason.code, "unauthorized");
  });
});
