import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { type ActingMember, insufficientRole, lockActingMember } from "../auth/acting-member.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { insertApiKey } from "../identity/account-sql.ts";
import {
  type Actor,
  hasAtLeastRole,
  lowerRole,
  type MemberRole,
  parseMemberRole,
} from "../identity/actor.ts";
import { hashSecret, newSecret, secretHint } from "../identity/api-key.ts";
import { countKeys, findKey, forgetRevokedKeys, type KeyRow, listKeys, revokeKey } from "./key-sql.ts";

/** A key as its team sees it. */
export interface ApiKey {
  id: string;
  label: string;
  env: "live" | "test";
  /** Its current role: the one chosen at its creation, or its user's where that is lower; without a user `member`. */
  role: MemberRole;
  prefix: string;
  last4: string;
  created_at: string;
  /** Its user; null once the user has left the team. */
  created_by: string | null;
  last_used_at: string | null;
}

/** `secret` is shown in this answer and never again: null in a replay of it. */
export interface CreatedKey extends ApiKey {
  secret: string | null;
}

export interface NewApiKey {
  label: string;
  env: "live" | "test";
  /** At most the caller's own role; default the caller's own. */
  role?: MemberRole | undefined;
}

export interface Keys {
  /** Newest first, without revoked ones. */
  list(actor: Actor, ask: PageRequest): Promise<Page<ApiKey>>;
  /**
   * @throws AppError `insufficient_role` for a role above the caller's; `limit_reached` at LIMITS.team.keys
   */
  create(actor: Actor, key: NewApiKey): Promise<CreatedKey>;
  /**
   * Stops it in this process at once, in every other within a second.
   * @throws AppError `not_found`; `insufficient_role` when an admin revokes an owner's key
   */
  revoke(actor: Actor, id: string): Promise<void>;
}

function render(row: KeyRow): ApiKey {
  return {
    id: row.id,
    label: row.label,
    env: row.env,
    role: lowerRole(parseMemberRole(row.role), parseMemberRole(row.memberRole)),
    prefix: row.prefix,
    last4: row.last4,
    created_at: row.createdAt.toISOString(),
    created_by: row.userId,
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  };
}

export function createKeys(deps: { sql: Database; publisher: ChangePublisher }): Keys {
  const { sql, publisher } = deps;
  return {
    async list(actor, { limit, after }) {
      const rows = await listKeys(sql, actor.teamId, { before: after, limit: limit + 1 });
      return pageOf(rows, { limit, after }, (row) => row.id, render);
    },

    create: (actor, key) => createKey(sql, actor, key),

    async revoke(actor, id) {
      const revoked =
        isId("key", id) &&
        (await publisher.transact(async (tx) => {
          const acting = await lockActingMember(tx, actor, "admin");
          const key = await findKey(tx, actor.teamId, id);
          if (key !== null) requireRevoker(acting, key);
          const was = await revokeKey(tx, actor.teamId, id);
          if (was) await forgetRevokedKeys(tx, actor.teamId, LIMITS.team.revokedKeysKept);
          return was;
        }, actor.teamId));
      if (!revoked) throw new AppError("not_found", "The team has no key with this id.");
    },
  };
}

/** Only owners may revoke an owner's key. */
function requireRevoker({ userId, role }: ActingMember, key: KeyRow): void {
  if (key.memberRole === "owner" && key.userId !== userId && role !== "owner")
    throw insufficientRole("owner", role);
}

/** A new key is cached nowhere: there is nothing to publish. */
async function createKey(sql: Database, actor: Actor, { label, env, role }: NewApiKey): Promise<CreatedKey> {
  const secret = newSecret(env);
  return sql.begin(async (tx) => {
    const { userId, role: own } = await lockActingMember(tx, actor, "admin");
    const granted = role ?? own;
    if (!hasAtLeastRole(own, granted)) throw insufficientRole(granted, own);
    if ((await countKeys(tx, actor.teamId)) >= LIMITS.team.keys)
      throw new AppError(
        "limit_reached",
        `A team may have at most ${LIMITS.team.keys} keys; revoke one first.`,
      );
    const row = {
      id: newId("key"),
      teamId: actor.teamId,
      userId,
      label,
      env,
      role: granted,
      ...secretHint(secret),
    };
    const createdAt = await insertApiKey(tx, { ...row, hash: Buffer.from(hashSecret(secret), "hex") });
    return { ...render({ ...row, memberRole: own, createdAt, lastUsedAt: null }), secret };
  }, actor.teamId);
}
