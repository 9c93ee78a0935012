import { LIMITS } from "../core/limits.ts";
import type { Database } from "./postgres.ts";

/** What the ledger answered to a request for a lease. */
export interface LeaseGrant {
  /** 0: nothing is left of the day. */
  granted: number;
  /** Units that may be taken before the ledger is told of them. */
  tranche: number;
  /** To the end of the UTC day that the units belong to, from when the ledger answered. */
  msToMidnight: number;
  /** Units of the day that are settled or told of, of the whole team. */
  used: number;
}

/** What a process tells of one of its leases. */
export interface LeaseReport {
  id: string;
  taken: number;
  /** Of those, still in flight: may yet be given back. Counted as spent meanwhile. */
  inFlight: number;
  /** Grows with each report of a lease. */
  revision: number;
}

/** How many units a lease is to have. */
export interface LeaseAsk {
  /** Units of the team's day. */
  limit: number;
  /** At most so many, at least 1. */
  want: number;
  /** And at most what is left of the day divided by this, but 1 if there is one. 1: all that is left. */
  share: number;
}

export interface QuotaLedger {
  /** @param id a UUID of the caller's, so that it can release a lease whose answer never came. */
  lease(id: string, teamId: string, ask: LeaseAsk): Promise<LeaseGrant>;
  /** Stores what was taken of each lease and renews it. The ids of those the ledger still has. */
  flush(reports: LeaseReport[]): Promise<Set<string>>;
  /** Gives back what was not taken, settles the rest unless it is in flight. Unknown leases are ignored. */
  release(report: LeaseReport): Promise<void>;
  /** Settles expired leases of all teams, LIMITS.quota.leasesReapedPerRound team days at most; how many there were. */
  reap(): Promise<number>;
  /** Units of the present UTC day that are settled or told of, and the day. */
  usage(teamId: string): Promise<{ day: string; used: number; msToMidnight: number }>;
}

/**
 * SQL of `quota_days` and `quota_leases`; see the migration for what holds at all times.
 *
 * A team may be deleted under load. That locks the team, its days, its leases, in this order, so a new lease takes its
 * share of the team's lock before the function takes the day's, and a flush passes over leases somebody else has
 * locked: they are being settled or deleted, and are lost either way.
 */
export function createQuotaLedger(sql: Database): QuotaLedger {
  const { leaseTtlMs, trancheMax, leasesReapedPerRound } = LIMITS.quota;
  return {
    async lease(id, teamId, { limit, want, share }) {
      const [row] = await sql<[{ granted: number; tranche: number; ms_to_midnight: number; used: number }]>`
        select granted, tranche, ms_to_midnight, used
        from quota_lease(${id}, (select t.id from teams t where t.id = ${teamId} for key share), ${limit}, ${want},
          ${share}, ${trancheMax}, ${`${leaseTtlMs} milliseconds`}::interval)`;
      return {
        granted: row.granted,
        tranche: row.tranche,
        msToMidnight: row.ms_to_midnight,
        used: row.used,
      };
    },

    async flush(reports) {
      const rows = await sql<{ id: string }[]>`
        with r as (
          select * from jsonb_to_recordset(${sql.json(reports.map(({ id, taken, revision }) => ({ id, taken, revision })))})
            as r (id uuid, taken integer, revision integer)
        ),
        mine as (select id from quota_leases where id in (select id from r) for update skip locked)
        update quota_leases l
        set spent = r.taken, revision = r.revision,
            expires_at = clock_timestamp() + ${`${leaseTtlMs} milliseconds`}::interval
        from mine join r using (id)
        where l.id = mine.id and l.revision < r.revision and l.expires_at > clock_timestamp()
        returning l.id`;
      return new Set(rows.map((row) => row.id));
    },

    async release(report) {
      await sql`
        select quota_release(${report.id}, ${report.taken}, ${report.inFlight}, ${report.revision})`;
    },

    async reap() {
      const [row] = await sql<[{ count: number }]>`select quota_reap(${leasesReapedPerRound}) as count`;
      return row.count;
    },

    async usage(teamId) {
      const [row] = await sql<[{ day: string; used: number; ms_to_midnight: number }]>`
        with today as (
          select at::date as day,
                 extract(epoch from (at::date + 1)::timestamp - at)::float8 * 1000 as ms_to_midnight
          from (select clock_timestamp() at time zone 'utc' as at) clock
        )
        select today.day::text as day, today.ms_to_midnight,
          coalesce((select used from quota_days d where d.team_id = ${teamId} and d.day = today.day), 0)
          + coalesce((select sum(spent) from quota_leases l
                      where l.team_id = ${teamId} and l.day = today.day), 0)::bigint as used
        from today`;
      return { day: row.day, used: row.used, msToMidnight: row.ms_to_midnight };
    },
  };
}
