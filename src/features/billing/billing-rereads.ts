import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Queryable } from "../../stores/postgres/postgres.ts";

/**
 * Customers whose subscriptions must be read from Stripe again: requested in any transaction, processed by the relays. A
 * relay leases a row, so that another relay takes it over when the first dies. A request during the read leads to another
 * read.
 */

export interface DueReread {
  customerId: string;
  /** Number of requests for a read when the row was leased. */
  requested: number;
  /** Leases of this request so far. */
  attempts: number;
}

/** Requests a read, due at once. */
export async function requestReread(sql: Queryable, customerId: string): Promise<void> {
  await sql`
    insert into billing_rereads (customer_id) values (${customerId})
    on conflict (customer_id) do update set requested = billing_rereads.requested + 1, due_at = now()`;
}

/** Leases the row that has been due longest, for LIMITS.billing.rereadLeaseMs; null: none is due. */
export async function leaseReread(sql: Database): Promise<DueReread | null> {
  const lease = intervalOf(LIMITS.billing.rereadLeaseMs);
  const [row] = await sql<DueReread[]>`
    with taken as materialized (
      select ctid from billing_rereads
      where due_at <= clock_timestamp() and (leased_until is null or leased_until < clock_timestamp())
      order by due_at limit 1 for update skip locked
    )
    update billing_rereads
    set attempts = attempts + 1, leased_until = clock_timestamp() + ${lease}::interval
    where ctid = any (array(select ctid from taken))
    returning customer_id as "customerId", requested, attempts`;
  return row ?? null;
}

/** Deletes a finished row, unless it was requested again since the lease. */
export async function finishReread(sql: Database, done: DueReread): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      delete from billing_rereads where customer_id = ${done.customerId} and requested = ${done.requested}`;
    await tx`
      update billing_rereads set leased_until = null, attempts = 0
      where customer_id = ${done.customerId} and requested <> ${done.requested}`;
  });
}

/** Makes a failed row due again after `delayMs`, sooner if it was requested meanwhile. */
export async function postponeReread(sql: Database, failed: DueReread, delayMs: number): Promise<void> {
  await sql`
    update billing_rereads set leased_until = null,
      due_at = case when requested = ${failed.requested}
        then clock_timestamp() + ${intervalOf(delayMs)}::interval else due_at end
    where customer_id = ${failed.customerId}`;
}
