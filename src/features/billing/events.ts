import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { isOutage, type TeamTransaction } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { requestReread } from "./billing-rereads.ts";
import { type SettleDeps, settleTeam } from "./settle-team.ts";
import {
  type EventTime,
  isInFuture,
  isOurs,
  mergeEvent,
  type Plans,
  planOf,
  type SeenSubscription,
  subscriptionStandingOf,
} from "./state.ts";
import { readCheckout, readCustomer, readSubscription, type SeenCheckout } from "./subscription.ts";
import {
  findOrphan,
  findSubscription,
  lockCustomer,
  lockCustomerBilling,
  lockTeamBilling,
  recordStripeEvent,
  setCustomer,
  type TeamBilling,
  writeSubscription,
} from "./subscription-sql.ts";

/** A notification of Stripe with a verified signature. */
export interface StripeEvent {
  id: string;
  type: string;
  /** Stripe's clock, seconds. */
  created: number;
  data: { object: Record<string, unknown> };
}

export interface BillingEvents {
  /**
   * Records an event and applies it, in one transaction, once for each id. Events unrelated to subscriptions are only
   * recorded.
   * @throws AppError `validation_failed` when its object does not match its type; `unavailable` without Postgres: Stripe
   *   must deliver it again
   */
  receive(event: StripeEvent): Promise<void>;
}

export interface BillingEventDeps extends SettleDeps {
  publisher: ChangePublisher;
  clock: Clock;
}

/** An event's information about a customer; `customer`: something has changed. */
type Notice = { customerId: string } & (
  | { of: "subscription"; seen: SeenSubscription }
  | { of: "checkout"; seen: SeenCheckout }
  | { of: "customer" }
);

/** null: irrelevant to us. */
function readNotice({ type, data: { object } }: StripeEvent, plans: Plans): Notice | null {
  switch (type) {
    case "customer.subscription.created":
    case "customer.subscription.updated":
    case "customer.subscription.paused":
    case "customer.subscription.resumed":
    case "customer.subscription.deleted": {
      const seen = readSubscription(object, (price) => plans.has(price));
      const isOver = type.endsWith("deleted") && subscriptionStandingOf(seen.status) !== "ended";
      const { customerId } = seen;
      return { of: "subscription", customerId, seen: isOver ? { ...seen, status: "canceled" } : seen };
    }
    case "checkout.session.completed": {
      if (object.mode !== "subscription") return null;
      const seen = readCheckout(object);
      return seen.customerId === null ? null : { of: "checkout", customerId: seen.customerId, seen };
    }
    case "invoice.paid":
    case "invoice.payment_failed": {
      const customerId = readCustomer(object);
      return customerId === null ? null : { of: "customer", customerId };
    }
    default:
      return null;
  }
}

function wrongObject(issues: readonly v.BaseIssue<unknown>[]): AppError {
  const errors = issues.slice(0, LIMITS.http.validationIssues).map((issue) => ({
    path: `data.object.${v.getDotPath(issue) ?? ""}`,
    message: `must be ${issue.expected ?? "of another form"}`,
  }));
  return new AppError("validation_failed", "The event's object does not match its type.", { errors });
}

class StripeEvents implements BillingEvents {
  readonly #deps: BillingEventDeps;

  constructor(deps: BillingEventDeps) {
    this.#deps = deps;
  }

  async receive(event: StripeEvent): Promise<void> {
    try {
      const notice = readNotice(event, this.#deps.plans);
      // The team is not known yet; a customer has one.
      await this.#deps.publisher.transact(
        (tx) => this.#record(tx, event, notice),
        notice?.customerId ?? event.id,
      );
    } catch (error) {
      if (error instanceof v.ValiError) throw wrongObject(error.issues);
      if (!isOutage(error)) throw error;
      throw new AppError("unavailable", "The event cannot be recorded now. Deliver it again.", {
        cause: error,
      });
    }
  }

  #timeOf({ created }: StripeEvent): EventTime {
    return {
      atS: created,
      nowS: Math.floor(this.#deps.clock.now() / 1000),
    };
  }

  /** True: Stripe must be asked for the customer's subscriptions. */
  async #take(tx: TeamTransaction, event: StripeEvent, notice: Notice): Promise<boolean> {
    const { customerId } = notice;
    await lockCustomer(tx, customerId);
    const owner = await lockCustomerBilling(tx, customerId);
    if (owner === null && (await findOrphan(tx, customerId)) !== null) return true;
    if (notice.of === "subscription") {
      const team = owner ?? (await adopt(tx, notice.seen, this.#deps.log));
      if (team === null) return false;
      return (await this.#takeSubscription(tx, team, event, notice.seen)) || owner === null;
    }
    if (owner !== null && notice.of === "checkout") await this.#takeCheckout(tx, owner, event, notice.seen);
    return owner !== null;
  }

  /** True: the truth must be asked for. */
  async #takeSubscription(
    tx: TeamTransaction,
    team: TeamBilling,
    event: StripeEvent,
    seen: SeenSubscription,
  ): Promise<boolean> {
    const before = await findSubscription(tx, team.id, seen.id);
    const known = before === null ? [] : [before.id];
    if (!isOurs(seen, { teamId: team.id, known }, this.#deps.plans)) return false;
    const merged = mergeEvent(before, seen, this.#timeOf(event), this.#deps.plans);
    if (merged.row !== null) await writeSubscription(tx, team.id, merged.row);
    await settleTeam(tx, team, this.#deps);
    return merged.reread;
  }

  /** A paid checkout counts at once, in case the subscription's own events are late. */
  async #takeCheckout(
    tx: TeamTransaction,
    team: TeamBilling,
    event: StripeEvent,
    seen: SeenCheckout,
  ): Promise<void> {
    const { subscriptionId: id, priceId, createdS } = seen;
    if (seen.teamId !== team.id || !seen.paid || id === null || isInFuture(this.#timeOf(event))) return;
    const plan = planOf({ priceId, plan: seen.sold }, this.#deps.plans);
    if (plan === null) return;
    if ((await findSubscription(tx, team.id, id)) !== null) return;
    await writeSubscription(tx, team.id, {
      id,
      status: "active",
      priceId,
      plan,
      planAtS: null,
      createdS,
      periodEndS: null,
      cancelAtPeriodEnd: false,
      stateAtS: event.created,
      readAt: null,
    });
    await settleTeam(tx, team, this.#deps);
  }

  async #record(tx: TeamTransaction, event: StripeEvent, notice: Notice | null): Promise<void> {
    const { id, type, created } = event;
    if (!(await recordStripeEvent(tx, { id, type, createdS: created })) || notice === null) return;
    if (await this.#take(tx, event, notice)) await requestReread(tx, notice.customerId);
  }
}

export function createBillingEvents(deps: BillingEventDeps): BillingEvents {
  return new StripeEvents(deps);
}

/**
 * Assigns the customer to the team that the subscription names: it was created by hand at Stripe, or by another deployment
 * on the same account. A checkout session never does that: anyone with a payment link may write any team into it.
 * @returns the team, locked; null: none, or one that has another customer
 */
async function adopt(
  tx: TeamTransaction,
  { customerId, teamId }: SeenSubscription,
  log: Logger,
): Promise<TeamBilling | null> {
  const named = teamId !== null && isId("team", teamId) ? await lockTeamBilling(tx, teamId) : null;
  if (named === null) return null;
  if (await setCustomer(tx, named.id, customerId, null)) return { ...named, customerId };
  log.warn({ team: named.id, customer: customerId }, "a subscription names a team that has another customer");
  return null;
}
