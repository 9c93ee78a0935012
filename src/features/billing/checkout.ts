import { randomUUID } from "node:crypto";
import type { BillingPlan } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { type Clock, pause } from "../../platform/time/clock.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { releaseClaim, takeClaim } from "./billing-claims.ts";
import { requestReread } from "./billing-rereads.ts";
import type { BillingProvider } from "./provider.ts";
import { type SettleDeps, settleTeam } from "./settle-team.ts";
import { isOurs, planOf, type SeenSubscription, subscriptionStandingOf } from "./state.ts";
import type { SeenCheckout } from "./subscription.ts";
import {
  endSubscriptions,
  findTeamBilling,
  listTeamSubscriptions,
  lockTeamBilling,
  setCustomer,
} from "./subscription-sql.ts";

export interface Offer extends BillingPlan {
  priceId: string;
}

export interface Checkouts {
  /**
   * A page where the team can pay for a plan, or manage its subscription: an open Checkout session or one of the billing
   * portal. One at a time for each team, over all processes. A second call returns the session that is still open, so that
   * there is never more than one to pay.
   * @throws AppError `billing_provider_error`, within LIMITS.billing.answerMs; `already_enterprise` without a subscription;
   *   `unauthorized` when the team is gone
   */
  open(teamId: string, offer: Offer): Promise<string>;
  /**
   * The billing portal, where the team manages what it bought, whether or not anything is for sale now.
   * @throws AppError `billing_provider_error`, within LIMITS.billing.answerMs; `not_found` for a team that has no customer
   *   at Stripe; `unauthorized` when the team is gone
   */
  manage(teamId: string): Promise<string>;
}

export interface CheckoutDeps extends SettleDeps {
  sql: Database;
  publisher: ChangePublisher;
  provider: BillingProvider;
  clock: Clock;
}

function tooSlow(): AppError {
  return new AppError("billing_provider_error", "The billing provider takes too long. Retry later.");
}

/** `work`, or an error after `ms`. The work continues, and the next caller finds its result. */
function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(tooSlow()));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}

export function createCheckouts(deps: CheckoutDeps): Checkouts {
  const { sql, clock, log } = deps;
  /** Calls in progress in this process: concurrent callers for the same team share the answer. */
  const underWay = new Map<string, Promise<string>>();

  async function claimed(teamId: string, offer: Offer): Promise<string> {
    const startedMs = clock.monotonic();
    const inTime = () => {
      if (clock.monotonic() - startedMs > LIMITS.billing.answerMs) throw tooSlow();
    };
    const claim = randomUUID();
    while (!(await takeClaim(sql, teamId, claim))) {
      inTime();
      if ((await findTeamBilling(sql, teamId)) === null) throw teamGone();
      await pause(clock, LIMITS.billing.claimPollMs);
    }
    try {
      return await negotiate(deps, { teamId, offer, inTime });
    } finally {
      await releaseClaim(sql, teamId, claim).catch((error) =>
        log.warn({ err: error, team: teamId }, "cannot release a checkout claim: it ends with its lease"),
      );
    }
  }

  return {
    open(teamId, offer) {
      const key = `${teamId} ${offer.priceId}`;
      let work = underWay.get(key);
      if (work === undefined) {
        work = claimed(teamId, offer).finally(() => underWay.delete(key));
        underWay.set(key, work);
      }
      return within(clock, LIMITS.billing.answerMs, work);
    },
    manage: (teamId) => within(clock, LIMITS.billing.answerMs, openPortal(deps, teamId)),
  };
}

async function openPortal(deps: CheckoutDeps, teamId: string): Promise<string> {
  const { sql } = deps;
  const team = await findTeamBilling(sql, teamId);
  if (team === null) throw teamGone();
  const url = team.customerId === null ? null : await portalOf(deps, team.customerId);
  if (url !== null) return url;
  throw new AppError("not_found", "The team has nothing at the billing provider that it could manage.");
}

/** null: Stripe does not know the customer. What is known here may be old, so the relay reads it anew. */
async function portalOf({ sql, provider }: CheckoutDeps, customerId: string): Promise<string | null> {
  await requestReread(sql, customerId);
  return provider.createPortal(customerId);
}

interface Negotiation {
  teamId: string;
  offer: Offer;
  /** Called before each provider call. @throws AppError when no time is left for one */
  inTime(): void;
}

/** The team's page, while it holds the claim. */
async function negotiate(deps: CheckoutDeps, asked: Negotiation): Promise<string> {
  const { sql, provider, plans } = deps;
  const team = await findTeamBilling(sql, asked.teamId);
  if (team === null) throw teamGone();
  const { id: teamId, customerId } = team;
  const rows = await listTeamSubscriptions(sql, teamId);
  const known = rows.map(({ id }) => id);
  asked.inTime();
  // Asks Stripe itself: a customer who has just paid returns before the event arrives, and the customer may be deleted.
  const listed = customerId === null ? null : await provider.listSubscriptions(customerId);
  const ours = (listed ?? []).filter((one) => isOurs(one, { teamId, known }, plans));
  const isEnterprise = team.tier === "enterprise";
  if (isEnterprise && !ours.some(isSubscription)) throw alreadyEnterprise();
  const planBefore = (id: string) => rows.find((row) => row.id === id)?.plan ?? null;
  // A subscription without a tier does not prevent a purchase; an enterprise team has nothing to buy.
  const seen = isEnterprise
    ? ours
    : ours.filter((one) => planOf({ ...one, plan: planBefore(one.id) ?? one.sold }, plans) !== null);
  if (customerId === null || listed === null)
    return begin(deps, asked, await newCustomer(deps, asked, customerId));
  return resume(deps, asked, { customerId, seen });
}

/** Good, or can be good again by paying: then a second subscription is not wanted. */
function isSubscription({ status }: { status: string }): boolean {
  const standing = subscriptionStandingOf(status);
  return standing === "good" || standing === "suspended";
}

/** A customer who has been at a checkout before. */
async function resume(
  deps: CheckoutDeps,
  asked: Negotiation,
  { customerId, seen }: { customerId: string; seen: SeenSubscription[] },
): Promise<string> {
  const { provider } = deps;
  const toPortal = async () => {
    asked.inTime();
    const url = await portalOf(deps, customerId);
    if (url === null) throw customerLost();
    return url;
  };
  if (seen.some(isSubscription)) return toPortal();
  asked.inTime();
  const open = (await provider.listOpenCheckouts(customerId)).filter((one) => one.teamId === asked.teamId);
  const same = open.find((one) => one.url !== null && one.priceId === asked.offer.priceId);
  const allExpired = await expireOthers(deps, asked, open, same);
  // A session that could not be expired was just paid. An incomplete subscription without an open session is being paid.
  const beingPaid = open.length === 0 && seen.some((one) => subscriptionStandingOf(one.status) === "pending");
  if (!allExpired || beingPaid) return toPortal();
  return same?.url ?? begin(deps, asked, customerId);
}

/** False: one of them was no longer open. */
async function expireOthers(
  { provider }: CheckoutDeps,
  asked: Negotiation,
  open: readonly SeenCheckout[],
  kept: SeenCheckout | undefined,
): Promise<boolean> {
  let all = true;
  for (const { id } of open) {
    if (id === kept?.id) continue;
    asked.inTime();
    all = (await provider.expireCheckout(id)) && all;
  }
  return all;
}

/** A new session; for a new customer when Stripe no longer knows this one. */
async function begin(deps: CheckoutDeps, asked: Negotiation, customerId: string): Promise<string> {
  const create = async (customer: string) => {
    asked.inTime();
    return deps.provider.createCheckout({ ...asked.offer, teamId: asked.teamId, customerId: customer });
  };
  const url = await create(customerId);
  if (url !== null) return url;
  const again = await create(await newCustomer(deps, asked, customerId));
  if (again !== null) return again;
  throw customerLost();
}

/**
 * Creates the team's customer, in place of one that Stripe has lost, whose subscriptions are over then. A process that dies
 * in between leaves an unused customer at Stripe.
 */
async function newCustomer(deps: CheckoutDeps, asked: Negotiation, replaced: string | null): Promise<string> {
  const { publisher, provider, log } = deps;
  const { teamId } = asked;
  asked.inTime();
  if (replaced !== null)
    log.warn({ team: teamId, customer: replaced }, "Stripe does not know a team's customer");
  const customerId = await provider.createCustomer(teamId);
  const current = await publisher.transact(async (tx) => {
    const team = await lockTeamBilling(tx, teamId);
    if (team === null || !(await setCustomer(tx, teamId, customerId, replaced))) return team?.customerId;
    if (replaced === null) return customerId;
    await endSubscriptions(tx, teamId);
    await settleTeam(tx, team, deps);
    return customerId;
  }, teamId);
  if (current == null) throw teamGone();
  return current;
}

function customerLost(): AppError {
  return new AppError("billing_provider_error", "The billing provider has lost the team's account.");
}

/** No subscription changes that tier: the team would pay for nothing. */
function alreadyEnterprise(): AppError {
  return new AppError("already_enterprise", "The team has the tier enterprise, which contains all others.");
}

function teamGone(): AppError {
  return new AppError("unauthorized", "The team has been deleted.");
}
