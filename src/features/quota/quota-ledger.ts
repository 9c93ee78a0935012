import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database } from "../../stores/postgres/postgres.ts";

/** The ledger's answer to a lease request. */
export interface LeaseGrant {
  /** 0: nothing is left of the day. */
  granted: number;
  /** Units that may be taken before they are reported to the ledger. */
  tranche: number;
  /** The UTC day of the units, `YYYY-MM-DD`. */
  day: string;
  /** To the end of that day, from when the ledger answered. */
  msToMidnight: number;
  /** Units of the day that are settled, reported, or held by jobs, of the whole team: what leases cannot get. */
  committed: number;
  /** The part of it reported for the day's leases. */
  leases: ReportedSpend[];
}

/** Reported spend of a lease. */
export interface ReportedSpend {
  id: string;
  spent: number;
}

/** A process's report on one of its leases. */
export interface LeaseReport {
  id: string;
  taken: number;
  /** Units in flight, which may be given back. Counted as spent until then. */
  inFlight: number;
  /** Grows with each report of a lease. */
  revision: number;
}

/** The current UTC day of a team. */
export interface LedgerUsage {
  /** `YYYY-MM-DD`. */
  day: string;
  /** Units settled or reported, without those that jobs hold. */
  used: number;
  /** Units that jobs hold: neither used nor available to others. */
  held: number;
  /** The part of `used` reported for leases. */
  leases: ReportedSpend[];
}

/** The size of a requested lease. */
export interface LeaseRequest {
  /** Units of the team's day. */
  limit: number;
  /** Maximum units, at least 1. */
  want: number;
  /** Also at most the rest of the day divided by this, but 1 if there is one. 1: the whole rest. */
  share: number;
}

export interface QuotaLedger {
  /** @param id a UUID of the caller, so that it can release a lease whose answer never came. */
  lease(id: string, teamId: string, ask: LeaseRequest): Promise<LeaseGrant>;
  /**
   * Stores the units taken of each lease and renews it: for LIMITS.quota.leaseTtlMs again, or up to renewEveryMs less.
   * Returns the ids of the leases that still exist.
   */
  flush(reports: LeaseReport[]): Promise<Set<string>>;
  /** Gives back unused units, and settles the rest unless it is in flight. Unknown leases are ignored. */
  release(report: LeaseReport): Promise<void>;
  /** Settles expired leases of all teams, at most LIMITS.quota.leasesReapedPerRound team days; returns their number. */
  reap(): Promise<number>;
  usage(teamId: string): Promise<LedgerUsage>;
}

type GrantRow = Omit<LeaseGrant, "msToMidnight"> & { ms_to_midnight: number };

function grantOf({ ms_to_midnight: msToMidnight, ...grant }: GrantRow): LeaseGrant {
  return { ...grant, msToMidnight };
}

/** The team's used and held units of today. */
async function usageOf(sql: Database, teamId: string): Promise<LedgerUsage> {
  const [row] = await sql<[LedgerUsage]>`
    select today.day::text, usage.used, usage.held, usage.leases
    from (select (clock_timestamp() at time zone 'utc')::date as day) today, quota_usage(${teamId}, today.day) usage`;
  return row;
}

/**
 * SQL of `quota_days` and `quota_leases`; the migration states the invariant.
 *
 * A team may be deleted under load. That locks the team, its days, its leases, in this order. So a new lease takes its
 * share of the team's lock before the function takes the day's, and a flush skips locked leases: they are being settled or
 * deleted, and are lost either way.
 */
export function createQuotaLedger(sql: Database): QuotaLedger {
  const { leaseTtlMs, renewEveryMs, trancheMax, leasesReapedPerRound } = LIMITS.quota;
  const ttl = intervalOf(leaseTtlMs);
  const unhurried = intervalOf(leaseTtlMs - renewEveryMs);

  return {
    async lease(id, teamId, { limit, want, share }) {
      const [row] = await sql<[GrantRow]>`
        with team as materialized (select id from teams where id = ${teamId} for key share)
        select lease.granted, lease.tranche, lease.ms_to_midnight, usage.used + usage.held as committed, today.day::text,
          usage.leases
        from quota_lease(${id}, (select id from team), ${limit}, ${want}, ${share}, ${trancheMax}, ${ttl}::interval) lease,
          -- The midnight that this is before, though a moment has passed: the nearest to then.
          lateral (select (clock_timestamp() at time zone 'utc' + lease.ms_to_midnight * interval '1 millisecond'
                           + interval '12 hours')::date - 1 as day) today,
          quota_usage(${teamId}, today.day) usage`;
      return grantOf(row);
    },

    async flush(reports) {
      const rows = await sql<{ id: string }[]>`
        with r as (
          select * from jsonb_to_recordset(${sql.json(reports.map(({ id, taken, revision }) => ({ id, taken, revision })))})
            as r (id uuid, taken integer, revision integer)
        ),
        mine as materialized (select id from quota_leases where id in (select id from r) for update skip locked)
        update quota_leases l
        set spent = r.taken, revision = r.revision,
            -- Left as it is for a while: a row of which no index hears is written at half the cost.
            expires_at = case when l.expires_at > clock_timestamp() + ${unhurried}::interval then l.expires_at
                              else clock_timestamp() + ${ttl}::interval end
        from mine join r using (id)
        where l.id = mine.id and l.revision < r.revision and l.expires_at > clock_timestamp()
        returning l.id`;
      return new Set(rows.map((row) => row.id));
    },

    async release({ id, taken, inFlight, revision }) {
      await sql`select quota_release(${id}, ${taken}, ${inFlight}, ${revision})`;
    },

    async reap() {
      const [row] = await sql<[{ count: number }]>`select quota_reap(${leasesReapedPerRound}) as count`;
      return row.count;
    },

    usage: (teamId) => usageOf(sql, teamId),
  };
}
