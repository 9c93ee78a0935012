import {
  insertApiKey,
  insertMembership,
  insertSession,
  upsertUser,
} from "../../src/features/identity/account-sql.ts";
import type { MemberRole } from "../../src/features/identity/actor.ts";
import { hashSecret, newSecret, secretHint } from "../../src/features/identity/api-key.ts";
import { newId } from "../../src/platform/ids.ts";
import type { Database } from "../../src/stores/postgres/postgres.ts";

export interface TestMember {
  id: string;
  email: string;
  /** Token of the member's portal session in the team. */
  session: string;
}

const hashed = (secret: string) => Buffer.from(hashSecret(secret), "hex");
let members = 0;

/** A new user in the team, signed in. */
export async function addMember(sql: Database, teamId: string, role: MemberRole): Promise<TestMember> {
  members += 1;
  const email = `${role}${members}@members.example`;
  const id = await upsertUser(sql, newId("usr"), email);
  const session = newSecret("sess");
  await insertMembership(sql, { teamId, userId: id, role });
  await insertSession(sql, {
    id: newId("sess"),
    userId: id,
    teamId,
    hash: hashed(session),
    ttlMs: 3_600_000,
  });
  return { id, email, session };
}

/** A live key with this role. */
export async function addKey(
  sql: Database,
  owner: { teamId: string; userId: string },
  role: MemberRole,
): Promise<{ id: string; secret: string }> {
  const secret = newSecret("live");
  const id = newId("key");
  const key = { id, ...owner, label: `${role} key`, env: "live", role, ...secretHint(secret) } as const;
  await insertApiKey(sql, { ...key, hash: hashed(secret) });
  return { id, secret };
}

/** A key with the role owner whose user has left the team. */
export async function addKeyWithoutUser(sql: Database, owner: { teamId: string; userId: string }) {
  const key = await addKey(sql, owner, "owner");
  await sql`update api_keys set user_id = null where id = ${key.id}`;
  return key;
}
