import type { BillingPlan } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Queryable, TeamTransaction, Transaction } from "../../stores/postgres/postgres.ts";

/** SQL of a team's subscriptions. Times `…S` are seconds of Stripe's clock. */

export interface TeamBilling {
  id: string;
  tier: Tier;
  /** null: the team has never started a checkout. */
  customerId: string | null;
  /** The subscription that the tier follows; null: none. */
  subscriptionId: string | null;
}

export interface SubscriptionRow {
  id: string;
  status: string;
  priceId: string | null;
  /** The plan of its price when that was last for sale, else the plan it was sold as; null: never known. */
  plan: BillingPlan | null;
  /** The event time of that plan; null: the price was never for sale here, or the time was not recorded. */
  planAtS: number | null;
  createdS: number;
  periodEndS: number | null;
  cancelAtPeriodEnd: boolean;
  stateAtS: number;
  readAt: Date | null;
}

const TEAM = `id, tier, stripe_customer_id as "customerId", stripe_subscription_id as "subscriptionId"`;
const SUBSCRIPTION = `id, status, price_id as "priceId", plan - 'at_s' as plan, (plan->>'at_s')::bigint as "planAtS", created_s as "createdS", period_end_s as "periodEndS",
  cancel_at_period_end as "cancelAtPeriodEnd", state_at_s as "stateAtS", read_at as "readAt"`;

export async function findTeamBilling(sql: Queryable, teamId: string): Promise<TeamBilling | null> {
  const [row] = await sql<TeamBilling[]>`select ${sql.unsafe(TEAM)} from teams where id = ${teamId}`;
  return row ?? null;
}

export async function findCustomerBilling(sql: Queryable, customerId: string): Promise<TeamBilling | null> {
  const [row] = await sql<TeamBilling[]>`
    select ${sql.unsafe(TEAM)} from teams where stripe_customer_id = ${customerId}`;
  return row ?? null;
}

/** Locks the team's tier and subscriptions until the transaction ends. */
export async function lockTeamBilling(tx: TeamTransaction, teamId: string): Promise<TeamBilling | null> {
  const [row] = await tx<TeamBilling[]>`
    select ${tx.unsafe(TEAM)} from teams where id = ${teamId} for no key update`;
  return row ?? null;
}

/** The same for the team that has the customer; null: none has. */
export async function lockCustomerBilling(tx: Transaction, customerId: string): Promise<TeamBilling | null> {
  const [row] = await tx<TeamBilling[]>`
    select ${tx.unsafe(TEAM)} from teams where stripe_customer_id = ${customerId} for no key update`;
  return row ?? null;
}

/**
 * Locks the customer's assignment until the transaction ends. Take it before the team's lock: while no team has the
 * customer there is no row on which two concurrent callers could wait.
 */
export async function lockCustomer(tx: Transaction, customerId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`stripe customer ${customerId}`}, 0))`;
}

/**
 * Makes `customerId` the team's customer where it is still `replaced`.
 * @returns false when the team has another customer by now, or is gone
 */
export async function setCustomer(
  sql: Queryable,
  teamId: string,
  customerId: string,
  replaced: string | null,
): Promise<boolean> {
  const { count } = await sql`
    update teams set stripe_customer_id = ${customerId}
    where id = ${teamId} and stripe_customer_id is not distinct from ${replaced}`;
  return count === 1;
}

export async function setTierAndSubscription(
  tx: Transaction,
  team: Pick<TeamBilling, "id" | "tier" | "subscriptionId">,
): Promise<void> {
  await tx`
    update teams set tier = ${team.tier}, stripe_subscription_id = ${team.subscriptionId} where id = ${team.id}`;
}

/** The team's subscriptions, latest first, at most LIMITS.billing.subscriptions. */
export async function listTeamSubscriptions(sql: Queryable, teamId: string): Promise<SubscriptionRow[]> {
  return sql<SubscriptionRow[]>`
    select ${sql.unsafe(SUBSCRIPTION)} from billing_subscriptions where team_id = ${teamId}
    order by created_s desc, id desc limit ${LIMITS.billing.subscriptions}`;
}

export async function findSubscription(
  sql: Queryable,
  teamId: string,
  subscriptionId: string,
): Promise<SubscriptionRow | null> {
  const [row] = await sql<SubscriptionRow[]>`
    select ${sql.unsafe(SUBSCRIPTION)} from billing_subscriptions
    where team_id = ${teamId} and id = ${subscriptionId}`;
  return row ?? null;
}

export async function writeSubscription(
  tx: Transaction,
  teamId: string,
  row: SubscriptionRow,
): Promise<void> {
  const plan = row.plan === null ? null : tx.json({ ...row.plan, at_s: row.planAtS });
  await tx`
    insert into billing_subscriptions
      (id, team_id, status, price_id, plan, created_s, period_end_s, cancel_at_period_end, state_at_s, read_at)
    values (${row.id}, ${teamId}, ${row.status}, ${row.priceId}, ${plan}, ${row.createdS}, ${row.periodEndS},
      ${row.cancelAtPeriodEnd}, ${row.stateAtS}, ${row.readAt})
    on conflict (id) do update set status = excluded.status, price_id = excluded.price_id, plan = excluded.plan,
      created_s = excluded.created_s, period_end_s = excluded.period_end_s,
      cancel_at_period_end = excluded.cancel_at_period_end, state_at_s = excluded.state_at_s,
      read_at = excluded.read_at, revision = billing_subscriptions.revision + 1
    where billing_subscriptions.team_id = excluded.team_id`;
}

/** Ends the subscriptions of a customer that Stripe no longer knows: no event will report on them again. */
export async function endSubscriptions(tx: Transaction, teamId: string): Promise<void> {
  await tx`
    update billing_subscriptions set status = 'canceled', revision = revision + 1 where team_id = ${teamId}`;
}

/** Changes with every write to a subscription of the team. */
export async function readBillingRevision(sql: Queryable, teamId: string): Promise<string> {
  const [row] = await sql<[{ revision: string }]>`
    select count(*) || ':' || coalesce(sum(revision), 0) as revision
    from billing_subscriptions where team_id = ${teamId}`;
  return row.revision;
}

/** A deleted team. */
export interface Orphan {
  teamId: string;
  /** The subscription that its tier followed; null: none. */
  subscriptionId: string | null;
}

/** The deleted team that had this customer; null: not known. */
export async function findOrphan(sql: Queryable, customerId: string): Promise<Orphan | null> {
  const [row] = await sql<Orphan[]>`
    select team_id as "teamId", subscription_id as "subscriptionId" from billing_orphans where customer_id = ${customerId}`;
  return row ?? null;
}

/** False: this event was recorded before, or by a concurrent transaction that has since committed. */
export async function recordStripeEvent(
  tx: Transaction,
  event: { id: string; type: string; createdS: number },
): Promise<boolean> {
  const { count } = await tx`
    insert into stripe_events (id, type, created_s) values (${event.id}, ${event.type}, ${event.createdS})
    on conflict do nothing`;
  return count === 1;
}

/** Deletes events that Stripe no longer repeats, at most LIMITS.billing.prunedPerRound. Returns their number. */
export async function pruneStripeEvents(sql: Database): Promise<number> {
  const kept = intervalOf(LIMITS.billing.eventsKeptMs);
  const { count } = await sql`
    with taken as materialized (
      select ctid from stripe_events where received_at < clock_timestamp() - ${kept}::interval
      order by received_at limit ${LIMITS.billing.prunedPerRound} for update skip locked
    )
    delete from stripe_events where ctid = any (array(select ctid from taken))`;
  return count;
}
