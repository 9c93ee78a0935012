import { LIMITS } from "../core/limits.ts";
import type { Database, Transaction } from "./postgres.ts";

/** Something that cached credentials said has changed: noted by triggers, see migration 3. */
export interface AuthChange {
  /**
   * `credential`: one key or session; `team`: the team's tier, limits or members or, with `domains`, its
   * blocklist or overrides; `lists`: what the operator has added to the lists, which no credential carries; `all`: more than is told one by one, never stored.
   */
  kind: "credential" | "team" | "lists" | "all";
  /** Of a credential its SHA-256 in hex, of a team its id, of lists the name of the list; of all nothing. */
  subject: string;
  /**
   * Of a team: the change is one to its blocklist or overrides alone, of these domains; of any where none is named.
   */
  domains?: readonly string[];
}

/** The answer to one poll. */
export interface ChangePage {
  changes: AuthChange[];
  /** Where the next poll starts. */
  cursor: string;
  /** There were more changes than a poll reads: everything cached is to be dropped. */
  overflow: boolean;
}

export interface AuthChanges {
  /**
   * Changes that were committed since `cursor` was handed out, each once; null for a first cursor with no changes.
   */
  since(cursor: string | null): Promise<ChangePage>;
  /** Deletes what is older than LIMITS.keys.changesKeptMs. */
  prune(): Promise<void>;
}

interface ChangeRow {
  kind: AuthChange["kind"];
  subject: string;
  domains: string[] | null;
}

function changeOf({ kind, subject, domains }: ChangeRow): AuthChange {
  return domains === null ? { kind, subject } : { kind, subject, domains };
}

/** What the transaction has changed so far: LIMITS.keys.changesPerPoll subjects at most, or `all`. */
export async function changesOf(tx: Transaction): Promise<AuthChange[]> {
  const max = LIMITS.keys.changesPerPoll;
  const rows = await tx<ChangeRow[]>`
    select distinct kind, subject, domains from auth_changes
    where xid = pg_current_xact_id_if_assigned()
    limit ${max + 1}`;
  // Which of them were left out is not known: the team itself perhaps.
  return rows.length > max ? [{ kind: "all", subject: "" }] : rows.map(changeOf);
}

interface PolledRow {
  cursor: string;
  ahead: boolean;
  kind: AuthChange["kind"] | null;
  subject: string | null;
  domains: string[] | null;
}

/**
 * Reading the feed. A sequence cannot be the cursor: number 7 may be committed after number 8 was read. The cursor is
 * the whole snapshot of the last poll. What it did not show are the changes of transactions that began after it (its
 * `xmax` or later) and of those that were under way then (its `xip` list), so asking for these misses none, tells each
 * once, and costs no more while some transaction stays open for long.
 */
export function createAuthChanges(sql: Database): AuthChanges {
  return {
    async since(cursor) {
      const rows = await sql<PolledRow[]>`
        select s.now::text as cursor,
               coalesce(pg_snapshot_xmin(s.last) > pg_snapshot_xmin(s.now)
                        or pg_snapshot_xmax(s.last) > pg_snapshot_xmax(s.now), false) as ahead,
               c.kind, c.subject, c.domains
        from (select pg_current_snapshot() as now, ${cursor}::pg_snapshot as last) s
        left join lateral (
          select kind, subject, domains from auth_changes where xid >= pg_snapshot_xmax(s.last)
          union all
          select kind, subject, domains from auth_changes where xid = any (array(select pg_snapshot_xip(s.last)))
          limit ${LIMITS.keys.changesPerPoll + 1}
        ) c on true`;
      const changes = rows.flatMap(({ kind, subject, domains }) =>
        kind === null || subject === null ? [] : [changeOf({ kind, subject, domains })],
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
