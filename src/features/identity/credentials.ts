import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";

/** A live key, test key or session as stored, with the role it may use now. */
export interface CredentialRow {
  id: string;
  teamId: string;
  /** null: the user has left the team or deleted the account. */
  userId: string | null;
  kind: "live" | "test" | "session";
  /** The role chosen for the key. */
  keyRole: string;
  /** The current role of its user in the team; null without a user. */
  memberRole: string | null;
  /** Remaining lifetime of a session when the database answered; null for keys, which do not expire. */
  expiresInMs: number | null;
}

export interface TeamRow {
  id: string;
  tier: Tier;
  /** As stored, not checked against the names and types of `TierLimits`. */
  limits: unknown;
}

export interface Credentials {
  /**
   * The credential with this SHA-256 and its team. null when it does not exist, was revoked or has expired, or is a session
   * of a user who left the team. (A key outlives its user's membership, without a user.)
   */
  find(hash: Buffer): Promise<{ credential: CredentialRow; team: TeamRow } | null>;
  /** Records that keys were used, each at most once in LIMITS.keys.lastUsedEveryMs. */
  touch(keyIds: string[]): Promise<void>;
}

interface FoundRow {
  id: string;
  team_id: string;
  user_id: string | null;
  kind: CredentialRow["kind"];
  key_role: string;
  member_role: string | null;
  expires_in_ms: number | null;
  tier: Tier;
  limits: unknown;
}

function toRows(row: FoundRow): { credential: CredentialRow; team: TeamRow } {
  return {
    credential: {
      id: row.id,
      teamId: row.team_id,
      userId: row.user_id,
      kind: row.kind,
      keyRole: row.key_role,
      memberRole: row.member_role,
      expiresInMs: row.expires_in_ms,
    },
    team: {
      id: row.team_id,
      tier: row.tier,
      limits: row.limits,
    },
  };
}

/**
 * SQL that reads credentials. Its cost does not grow with the team: the team's lists are read separately (team-domains.ts).
 * A look-up by the hash of a secret of 160 random bits leaks nothing by its timing: a guess that shares leading bytes of a
 * hash is no nearer.
 */
export function createCredentials(sql: Database): Credentials {
  return {
    async find(hash) {
      const [row] = await sql<FoundRow[]>`
        with credential as (
          select id, team_id, user_id, env as kind, role as key_role, null::float8 as expires_in_ms
          from api_keys where hash = ${hash} and revoked_at is null
          union all
          select id, team_id, user_id, 'session', 'owner',
                 extract(epoch from expires_at - clock_timestamp())::float8 * 1000
          from sessions join memberships using (team_id, user_id)
          where hash = ${hash} and expires_at > clock_timestamp()
        )
        select c.id, c.team_id, m.user_id, c.kind, c.key_role, m.role as member_role, c.expires_in_ms,
               t.tier, t.limits
        from credential c
        join teams t on t.id = c.team_id
        left join memberships m on m.team_id = c.team_id and m.user_id = c.user_id`;
      return row ? toRows(row) : null;
    },

    async touch(keyIds) {
      // Ordered and skipping locked rows, so that processes that saw the same keys never wait for each other.
      await sql`
        with taken as materialized (
          select ctid from api_keys
          where id in (select jsonb_array_elements_text(${sql.json(keyIds)}))
            and (last_used_at is null
                 or last_used_at < now() - ${intervalOf(LIMITS.keys.lastUsedEveryMs / 2)}::interval)
          order by id for update skip locked
        )
        update api_keys set last_used_at = now() where ctid = any (array(select ctid from taken))`;
    },
  };
}

/**
 * Prevents the credential's revocation until the transaction ends. False when it belongs to another user, was revoked or
 * has expired. The caller holds the lock of its team or, for a session, of its user.
 */
export async function shareLockCredential(
  tx: Transaction,
  credential: { id: string; isSession: boolean; teamId: string; userId: string },
): Promise<boolean> {
  const { id, isSession, teamId, userId } = credential;
  const rows = isSession
    ? await tx`
        select from sessions
        where id = ${id} and team_id = ${teamId} and user_id = ${userId} and expires_at > clock_timestamp()
        for share`
    : await tx`
        select from api_keys
        where id = ${id} and team_id = ${teamId} and user_id = ${userId} and revoked_at is null
        for share`;
  return rows.length > 0;
}
