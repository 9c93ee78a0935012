import { LIMITS } from "../core/limits.ts";
import type { Database } from "./postgres.ts";

/** What the ledger answered to a request for a lease. */
export interface LeaseGrant {
  /** 0: nothing is left of the day. */
  granted: number;
  /** Units that may be taken before the ledger is told of them. */
  tranche: number;
  /** The UTC day that the units belong to, `YYYY-MM-DD`. */
  day: string;
  /** To its end, from when the ledger answered. */
  msToMidnight: number;
  /** Units of the day that are settled, told of, or held by jobs, of the whole team: what is not left for leases. */
  committed: number;
  /** What of it was told of the leases of the day. */
  leases: ToldSpend[];
}

/** What the ledger has been told of a lease. */
export interface ToldSpend {
  id: string;
  spent: number;
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

/** The present UTC day of a team. */
export interface LedgerUsage {
  /** `YYYY-MM-DD`. */
  day: string;
  /** Units settled or told of, without those that jobs hold. */
  used: number;
  /** Units that jobs hold, neither used nor there for others. */
  held: number;
  /** What of `used` was told of the leases. */
  leases: ToldSpend[];
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

/** One of several that are asked for at once. */
export interface TeamAsk extends LeaseAsk {
  /** As of `lease`. */
  id: string;
  teamId: string;
}

export interface QuotaLedger {
  /** @param id a UUID of the caller's, so that it can release a lease whose answer never came. */
  lease(id: string, teamId: string, ask: LeaseAsk): Promise<LeaseGrant>;
  /**
   * The same for many teams in one statement, but for those that somebody else has locked, or that have no day yet: to wait for one
   * would keep the others. No team twice.
   * @returns grants by id, of those that were asked about
   */
  leaseTogether(asks: readonly TeamAsk[]): Promise<Map<string, LeaseGrant>>;
  /**
   * Stores what was taken of each lease and renews it: it has LIMITS.quota.leaseTtlMs again, or up to renewEveryMs less. The ids of
   * those the ledger still has.
   */
  flush(reports: LeaseReport[]): Promise<Set<string>>;
  /** Gives back what was not taken, settles the rest unless it is in flight. Unknown leases are ignored. */
  release(report: LeaseReport): Promise<void>;
  /**
   * The same of many in one statement, but for those whose day somebody else has locked: waiting for one day, of a team that is
   * deleted perhaps, would keep the others'.
   * @returns ids of those it released
   */
  releaseTogether(reports: readonly LeaseReport[]): Promise<Set<string>>;
  /** Settles expired leases of all teams, LIMITS.quota.leasesReapedPerRound team days at most; how many there were. */
  reap(): Promise<number>;
  usage(teamId: string): Promise<LedgerUsage>;
}

type GrantRow = Omit<LeaseGrant, "msToMidnight"> & { ms_to_midnight: number };

function grantOf({ ms_to_midnight: msToMidnight, ...grant }: GrantRow): LeaseGrant {
  return { ...grant, msToMidnight };
}

/**
 * SQL of `quota_days` and `quota_leases`; see the migration for what holds at all times.
 *
 * A team may be deleted under load. That locks the team, its days, its leases, in this order, so a new lease takes its
 * share of the team's lock before the function takes the day's, and a flush passes over leases somebody else has
 * locked: they are being settled or deleted, and are lost either way.
 */
export function createQuotaLedger(sql: Database): QuotaLedger {
  const { leaseTtlMs, renewEveryMs, trancheMax, leasesReapedPerRound } = LIMITS.quota;
  const ttl = `${leaseTtlMs} milliseconds`;
  const unhurried = `${leaseTtlMs - renewEveryMs} milliseconds`;

  return {
    async lease(id, teamId, { limit, want, share }) {
      const [row] = await sql<[GrantRow]>`
        with team as materialized (select id from teams where id = ${teamId} for key share)
        select lease.granted, lease.tranche, lease.ms_to_midnight, lease.used as committed, today.day::text,
          quota_told(${teamId}, today.day) as leases
        from quota_lease(${id}, (select id from team), ${limit}, ${want}, ${share}, ${trancheMax}, ${ttl}::interval) lease,
          -- The midnight that this is before, though a moment has passed: the nearest to then.
          lateral (select (clock_timestamp() at time zone 'utc' + lease.ms_to_midnight * interval '1 millisecond'
                           + interval '12 hours')::date - 1 as day) today`;
      return grantOf(row);
    },

    async leaseTogether(asks) {
      const rows = await sql<(GrantRow & { id: string })[]>`
        select id, granted, tranche, ms_to_midnight, committed, day::text, leases
        from quota_lease_together(${sql.json(asks.map((ask) => ({ ...ask })))}, ${trancheMax}, ${ttl}::interval)`;
      return new Map(rows.map(({ id, ...row }) => [id, grantOf(row)]));
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

    async releaseTogether(reports) {
      const rows = await sql<{ id: string }[]>`
        select id from quota_release_together(${sql.json(reports.map((report) => ({ ...report })))})`;
      return new Set(rows.map(({ id }) => id));
    },

    async reap() {
      const [row] = await sql<[{ count: number }]>`select quota_reap(${leasesReapedPerRound}) as count`;
      return row.count;
    },

    async usage(teamId) {
      const [row] = await sql<[LedgerUsage]>`
        with today as (
          select (clock_timestamp() at time zone 'utc')::date as day
        )
        select today.day::text as day,
          (coalesce((select used from quota_days d where d.team_id = ${teamId} and d.day = today.day), 0)
           + coalesce(leased.spent, 0))::bigint as used,
          coalesce((select sum(units) from quota_holds h where h.team_id = ${teamId} and h.day = today.day), 0)::bigint
            as held,
          coalesce(leased.leases, '[]') as leases
        from today, lateral (
          select sum(spent) as spent, jsonb_agg(jsonb_build_object('id', id, 'spent', spent)) as leases
          from quota_leases l where l.team_id = ${teamId} and l.day = today.day
        ) leased`;
      return row;
    },
  };
}
