import type { Database } from "../../../src/stores/postgres/postgres.ts";
import { writtenOff } from "./charges.ts";

/**
 * Makes the run's database record each lease that was settled because its process did not renew it: only these may be
 * charged more than was reported for them.
 */
export async function auditLeases(sql: Database): Promise<void> {
  await sql.unsafe(`
    create table chaos_leases (team_id text, granted integer, spent integer, tranche integer);
    create function chaos_note_lease() returns trigger language plpgsql as $$
    begin
      if old.expires_at <= clock_timestamp() then
        insert into chaos_leases values (old.team_id, old.granted, old.spent, old.tranche);
      end if;
      return old;
    end $$;
    create trigger chaos_note_lease before delete on quota_leases
      for each row execute function chaos_note_lease();
  `);
}

/** Units in a team's ledger, summed over all days. */
export interface TeamLedger {
  used: number;
  held: number;
  leased: number;
  /** Most units that expired leases may have been charged without use. */
  written: number;
}

export async function ledgerOf(sql: Database, teamId: string): Promise<TeamLedger> {
  const [row] = await sql<[Omit<TeamLedger, "written">]>`
    select (select coalesce(sum(used), 0)::int from quota_days where team_id = ${teamId}) as used,
           (select coalesce(sum(units), 0)::int from quota_holds where team_id = ${teamId}) as held,
           (select coalesce(sum(granted), 0)::int from quota_leases where team_id = ${teamId}) as leased`;
  const gone = await sql<{ granted: number; spent: number; tranche: number }[]>`
    select granted, spent, tranche from chaos_leases where team_id = ${teamId}`;
  return { ...row, written: gone.reduce((sum, lease) => sum + writtenOff(lease), 0) };
}
