import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database } from "../../stores/postgres/postgres.ts";

/**
 * Takes the right to create the team's checkout, for LIMITS.billing.claimLeaseMs. It replaces a lock: calls to Stripe take
 * seconds, and no transaction may stay open that long.
 * @param claim a UUID of the caller
 * @returns false: another caller has it, or the team does not exist
 */
export async function takeClaim(sql: Database, teamId: string, claim: string): Promise<boolean> {
  const lease = intervalOf(LIMITS.billing.claimLeaseMs);
  const { count } = await sql`
    insert into billing_claims (team_id, claim, leased_until)
    select id, ${claim}::uuid, clock_timestamp() + ${lease}::interval
    from teams where id = ${teamId} for key share
    on conflict (team_id) do update set claim = excluded.claim, leased_until = excluded.leased_until
    where billing_claims.leased_until < clock_timestamp()`;
  return count === 1;
}

/** Releases the claim; does nothing when the lease has ended and another caller has it. */
export async function releaseClaim(sql: Database, teamId: string, claim: string): Promise<void> {
  await sql`delete from billing_claims where team_id = ${teamId} and claim = ${claim}::uuid`;
}
