import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { accountPruningTasks, mailPeriodicTasks } from "../../../../src/features/accounts/account-tasks.ts";
import { pruneInvites } from "../../../../src/features/accounts/invite-sql.ts";
import { createPasswordReset } from "../../../../src/features/accounts/password-reset.ts";
import { pruneResets } from "../../../../src/features/accounts/password-reset-sql.ts";
import type { PortalLimits } from "../../../../src/features/accounts/portal-limits.ts";
import { pruneRegistrations } from "../../../../src/features/accounts/registrations.ts";
import { createSendResets } from "../../../../src/features/accounts/send-resets.ts";
import { pruneSessions } from "../../../../src/features/accounts/session-sql.ts";
import { insertUser } from "../../../../src/features/identity/users.ts";
import { createMailQueue } from "../../../../src/features/mail/queue.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { createSecretBox } from "../../../../src/platform/secret-box.ts";
import { newTeam, openDatabase, silentLog } from "../../../support/store.ts";

const unused = () => assert.fail("not needed to ask for a link");
const noLimits: PortalLimits = {
  passwordReset: async () => undefined,
  signIn: unused,
  registration: unused,
  registrationMail: unused,
  invitation: unused,
  invitationMail: unused,
  resetAfterProof: unused,
};

describe("the relay's tasks of accounts", () => {
  it("prune what has expired and nothing else, in steps", async (t) => {
    const { sql } = await openDatabase(t);
    const { teamId, userId } = await newTeam(sql);
    const many = LIMITS.portal.prunedPerRound + 50;
    await sql`
      insert into sessions (id, hash, user_id, team_id, expires_at)
      select 'sess_' || i, sha256(('s' || i)::bytea), ${userId}, ${teamId}, now() - interval '1 second'
      from generate_series(1, ${many}) i`;
    for (const [name, offset] of [
      ["gone", "-1 second"],
      ["open", "1 day"],
    ] as const) {
      await sql`
        insert into invites (id, team_id, email, role, invited_by, hash, expires_at)
        values (${name}, ${teamId}, ${`${name}@example.com`}, 'member', ${userId},
          sha256(${name}::bytea), now() + ${offset}::interval)`;
      await sql`
        insert into password_resets (hash, user_id, expires_at)
        values (sha256(${name}::bytea), ${userId}, now() + ${offset}::interval)`;
      await sql`
        insert into registrations (id, email, password_hash, team_name, expires_at)
        values (${name}, ${`${name}@example.com`}, 'hash', 'a team', now() + ${offset}::interval)`;
    }
    await sql`
      insert into password_reset_requests (id, sealed_email, created_at)
      values ('gone', '', now() - interval '1 day'), ('open', '', now())`;
    const prunes = [pruneSessions, pruneInvites, pruneResets, pruneRegistrations];
    const [task] = accountPruningTasks(prunes.map((prune) => () => prune(sql)));
    const counts = async () => {
      const [row] = await sql<[{ counts: number[] }]>`
        select jsonb_build_array((select count(*) from sessions), (select count(*) from invites),
          (select count(*) from password_resets), (select count(*) from password_reset_requests),
          (select count(*) from registrations)) as counts`;
      return row.counts;
    };
    await task?.run(() => false);
    assert.deepEqual(await counts(), [51, 1, 1, 1, 1]);
    await Promise.all([task?.run(() => false), task?.run(() => false)]);
    assert.deepEqual(await counts(), [1, 1, 1, 1, 1]);
  });

  it("answer each request for a new password once, with many relays, and read none of another key", async (t) => {
    const { sql } = await openDatabase(t);
    await newTeam(sql);
    const [owner] = await sql<[{ email: string }]>`select email from users`;
    const box = createSecretBox(Buffer.alloc(32, 7));
    const queue = createMailQueue(box);
    const resetWith = (key: number) =>
      createPasswordReset({
        sql,
        publisher: { transact: unused },
        passwords: { hash: unused, verify: unused },
        limits: noLimits,
        box: createSecretBox(Buffer.alloc(32, key)),
      });
    await resetWith(8).request(owner.email, "192.0.2.1");
    await resetWith(7).request(owner.email, "192.0.2.1");
    for (let i = 0; i < 120; i++) await resetWith(7).request(`nobody${i}@example.com`, "192.0.2.1");
    const sendResets = createSendResets({ sql, box, queue, baseUrl: "https://rcpt.example", log: silentLog });
    const [task] = mailPeriodicTasks({
      sendResets,
      sendConfirmations: async () => undefined,
      deliverMail: async () => undefined,
    });
    await Promise.all([1, 2, 3].map(() => task?.run(() => false)));
    const [row] = await sql<[{ requests: number; resets: number; mails: number }]>`
      select (select count(*)::int from password_reset_requests) as requests,
        (select count(*)::int from password_resets) as resets, (select count(*)::int from mail_outbox) as mails`;
    assert.deepEqual({ ...row }, { requests: 0, resets: 1, mails: 1 });
  });

  it("answer the other requests for a new password when one fails, and that one later", async (t) => {
    const { sql } = await openDatabase(t);
    const box = createSecretBox(Buffer.alloc(32, 7));
    const queue = createMailQueue(box);
    const fault = { of: "" };
    const sendResets = createSendResets({
      sql,
      box,
      queue: {
        ...queue,
        async enqueue(tx, mail, about, ttlMs) {
          if (mail.to === fault.of) await tx`select 1 / 0`;
          return queue.enqueue(tx, mail, about, ttlMs);
        },
      },
      baseUrl: "https://rcpt.example",
      log: silentLog,
    });
    const reset = createPasswordReset({
      sql,
      publisher: { transact: unused },
      passwords: { hash: unused, verify: unused },
      limits: noLimits,
      box,
    });
    const emails = ["first@example.com", "second@example.com", "third@example.com"];
    for (const email of emails) {
      await sql.begin((tx) => insertUser(tx, { id: newId("usr"), email, passwordHash: null }));
      await reset.request(email, "192.0.2.1");
    }
    fault.of = "first@example.com";
    const waiting = async () => {
      const [row] = await sql<[{ requests: number; resets: number; mails: number }]>`
        select (select count(*)::int from password_reset_requests) as requests,
          (select count(*)::int from password_resets) as resets, (select count(*)::int from mail_outbox) as mails`;
      return { ...row };
    };
    await sendResets(() => false);
    assert.deepEqual(await waiting(), { requests: 1, resets: 2, mails: 2 });
    fault.of = "";
    await sendResets(() => false);
    assert.deepEqual(await waiting(), { requests: 0, resets: 3, mails: 3 });
  });

  it("let no more requests for a new password wait than they should", async (t) => {
    const { sql } = await openDatabase(t);
    await sql`
      insert into password_reset_requests (id, sealed_email)
      select 'r' || i, '' from generate_series(1, ${LIMITS.portal.resetRequests}) i`;
    const reset = createPasswordReset({
      sql,
      publisher: { transact: unused },
      passwords: { hash: unused, verify: unused },
      limits: noLimits,
      box: createSecretBox(Buffer.alloc(32, 7)),
    });
    await assert.rejects(reset.request("a@example.com", "192.0.2.1"), { code: "overloaded" });
  });
});
