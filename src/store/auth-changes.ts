import { LIMITS } from "../core/limits.ts";
import type { Database, Transaction } from "./postgres.ts";

/** Something that cached credentials said has changed. */
export interface AuthChange {
  /** `credential`: one key or session; `team`: the team's tier, limits, members or blocklist. */
  kind: "credential" | "team";
  /** Of a credential its SHA-256 in hex, of a team its id. */
  subject: string;
}

/** The answer to one poll. */
export interface ChangePage {
  changes: (AuthChange & { seq: number })[];
  /** Where the next poll starts. */
  cursor: string;
  /** There were more changes than a poll reads: everything cached is to be dropped. */
  overflow: boolean;
}

export interface AuthChanges {
  /**
   * Changes that were committed since `cursor` was handed out, and perhaps some seen before; null for a first cursor
   * with no changes.
   */
  since(cursor: string | null): Promise<ChangePage>;
  /** Deletes what is older than LIMITS.keys.changesKeptMs. */
  prune(): Promise<void>;
}

/** Writes a change in the transaction that makes it, so that neither is ever there without the other. */
export async function recordChange(tx: Transaction, change: AuthChange): Promise<void> {
  await tx`insert into auth_changes (kind, subject) values (${change.kind}, ${change.subject})`;
}

interface PolledRow {
  cursor: string;
  ahead: boolean;
  seq: number | null;
  kind: AuthChange["kind"] | null;
  subject: string | null;
}

/**
 * Reading the feed. A sequence cannot be the cursor: number 7 may be committed after number 8 was read. The cursor is
 * the `xmin` of the snapshot of the last poll: every transaction that snapshot did not show has that id or a later
 * one, so asking for `xid >= cursor` misses none. What was seen already may come again while an old transaction is
 * open; the caller tells by `seq`.
 */
export function createAuthChanges(sql: Database): AuthChanges {
  return {
    async since(cursor) {
      const rows = await sql<PolledRow[]>`
        select pg_snapshot_xmin(s.now)::text as cursor,
               coalesce(${cursor}::xid8 > pg_snapshot_xmin(s.now), false) as ahead,
               c.seq, c.kind, c.subject
        from (select pg_current_snapshot() as now) s
        left join lateral (
          select seq, kind, subject from auth_changes
          where xid >= ${cursor}::xid8 limit ${LIMITS.keys.changesPerPoll + 1}
        ) c on true`;
      const changes = rows.flatMap(({ seq, kind, subject }) =>
        seq === null || kind === null || subject === null ? [] : [{ seq, kind, subject }],
      );
      const first = rows[0];
      if (!first) throw new Error("the change feed answered no row");
      // A cursor ahead of the server's: another server answers, restored or promoted. Nothing is known of the past.
      const overflow = first.ahead || changes.length > LIMITS.keys.changesPerPoll;
      return { changes, cursor: first.cursor, overflow };
    },

    async prune() {
      await sql`
        delete from auth_changes
        where created_at < now() - ${`${LIMITS.keys.changesKeptMs} milliseconds`}::interval`;
    },
  };
}
