import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";

/** A change to the data of cached credentials: recorded by triggers, see migration 3. */
export interface AuthChange {
  /**
   * `credential`: one key or session; `team`: the team's tier, limits or members or, with `domains`, its blocklist or
   * overrides; `lists`: the operator's additions to the lists, which no credential carries; `all`: too many changes to
   * list, never stored.
   */
  kind: "credential" | "team" | "lists" | "all";
  /** SHA-256 in hex of a credential, id of a team, or name of a list; empty for all. */
  subject: string;
  /** Domains whose blocklist or override entries changed, if nothing else of the team did; empty: any domain. */
  domains?: readonly string[];
}

/** The answer to one poll. */
export interface ChangePage {
  changes: AuthChange[];
  /** Position at which the next poll starts. */
  cursor: string;
  /** There were more changes than one poll reads: drop the whole cache. */
  overflow: boolean;
}

export interface AuthChanges {
  /** Changes committed since `cursor` was returned, each once; null returns a first cursor without changes. */
  since(cursor: string | null): Promise<ChangePage>;
  /** Deletes changes older than LIMITS.keys.changesKeptMs. */
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

/** The transaction's changes so far: at most LIMITS.keys.changesPerPoll subjects, or `all`. */
export async function readOwnChanges(tx: Transaction): Promise<AuthChange[]> {
  const max = LIMITS.keys.changesPerPoll;
  const rows = await tx<ChangeRow[]>`
    select distinct kind, subject, domains from auth_changes
    where xid = pg_current_xact_id_if_assigned()
    limit ${max + 1}`;
  // The omitted changes are unknown: the team itself may be among them.
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
 * Reads the feed. A sequence cannot be the cursor: number 7 may be committed after number 8 was read. The cursor is the
 * whole snapshot of the last poll. It excludes the changes of transactions that began after it (its `xmax` or later) and of
 * those in progress then (its `xip` list). A query for these misses no change, returns each once, and costs no more while a
 * transaction stays open for long.
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
      if (!first) throw new Error("the change feed returned no row");
      // A cursor ahead of the server's: another server answers, restored or promoted. The past is unknown.
      const overflow = first.ahead || changes.length > LIMITS.keys.changesPerPoll;
      return { changes, cursor: first.cursor, overflow };
    },

    async prune() {
      await sql`
        delete from auth_changes
        where created_at < now() - ${intervalOf(LIMITS.keys.changesKeptMs)}::interval`;
    },
  };
}
