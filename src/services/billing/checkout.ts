import { randomUUID } from "node:crypto";
import { type Clock, sleep } from "../../core/clock.ts";
import type { BillingPlan } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import { endSubscriptions, findTeam, lockTeam, setCustomer, subscriptionsOf } from "../../store/billing.ts";
import { releaseClaim, takeClaim } from "../../store/billing-claims.ts";
import { requestReread } from "../../store/billing-rereads.ts";
import type { Database } from "../../store/postgres.ts";
import type { ChangePublisher } from "../authenticate/publish.ts";
import type { BillingProvider } from "./provider.ts";
import { type SettleDeps, settleTeam } from "./settle-team.ts";
import { isOurs, planOf, type SeenSubscription, standingOf } from "./state.ts";
import type { SeenCheckout } from "./subscription.ts";

export interface Offer extends BillingPlan {
  priceId: string;
}

export interface Checkouts {
  /**
   * Where the team can pay for a plan, or look after the subscription that it has: an open Checkout session or one of
   * the billing portal. One at a time for each team, over all processes; asked again, the session that is still open,
   * so that there is never more than one to be paid.
   * @throws AppError `billing_provider_error`, within LIMITS.billing.answerMs; `already_enterprise` without a
   *   subscription; `unauthorized` when the team is gone
   */
  open(teamId: string, offer: Offer): Promise<string>;
}

export interface CheckoutDeps extends SettleDeps {
  sql: Database;
  publisher: ChangePublisher;
  provider: BillingProvider;
  clock: Clock;
}

function tooSlow(): AppError {
  return new AppError("billing_provider_error", "The billing provider takes too long. Try again later.");
}

/** `work`, or its absence after `ms`; it goes on, and what it does is found by who asks next. */
function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(tooSlow()));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}

export function createCheckouts(deps: CheckoutDeps): Checkouts {
  const { sql, clock, log } = deps;
  /** Of this process: whoever asks for the same meanwhile gets the same answer. */
  const underWay = new Map<string, Promise<string>>();

  async function claimed(teamId: string, offer: Offer): Promise<string> {
    const startedMs = clock.monotonic();
    const inTime = () => {
      if (clock.monotonic() - startedMs > LIMITS.billing.answerMs) throw tooSlow();
    };
    const claim = randomUUID();
    while (!(await takeClaim(sql, teamId, claim))) {
      inTime();
      if ((await findTeam(sql, teamId)) === null) throw gone();
      await sleep(clock, LIMITS.billing.claimPollMs);
    }
    try {
      return await negotiate(deps, { teamId, offer, inTime });
    } finally {
      await releaseClaim(sql, teamId, claim).catch((error) =>
        log.warn({ err: error, team: teamId }, "a checkout's claim waits for the end of its lease"),
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
  };
}

interface Negotiation {
  teamId: string;
  offer: Offer;
  /** Before each call of the provider. @throws AppError when there is no time left for one */
  inTime(): void;
}

/** What the team gets, while it holds the claim. */
async function negotiate(deps: CheckoutDeps, asked: Negotiation): Promise<string> {
  const { sql, provider, plans } = deps;
  const team = await findTeam(sql, asked.teamId);
  if (team === null) throw gone();
  const { id: teamId, customerId } = team;
  const rows = await subscriptionsOf(sql, teamId);
  const known = rows.map(({ id }) => id);
  asked.inTime();
  // Stripe's own word: whoever has just paid comes back sooner than the event, and the customer may be gone.
  const listed = customerId === null ? null : await provider.listSubscriptions(customerId);
  const ours = (listed ?? []).filter((one) => isOurs(one, { teamId, known }, plans));
  const isEnterprise = team.tier === "enterprise";
  if (isEnterprise && !ours.some(isSubscription)) throw alreadyEnterprise();
  const planBefore = (id: string) => rows.find((row) => row.id === id)?.plan ?? null;
  // What gives no tier keeps nobody from buying one; an enterprise team has nothing to buy.
  const seen = isEnterprise
    ? ours
    : ours.filter((one) => planOf({ ...one, plan: planBefore(one.id) ?? one.sold }, plans) !== null);
  if (customerId === null || listed === null)
    return begin(deps, asked, await newCustomer(deps, asked, customerId));
  return resume(deps, asked, { customerId, seen });
}

/** Good, or can be good again by paying: then a second one is not what is wanted. */
function isSubscription({ status }: { status: string }): boolean {
  const standing = standingOf(status);
  return standing === "good" || standing === "suspended";
}

/** A customer who has been at a checkout before. */
async function resume(
  deps: CheckoutDeps,
  asked: Negotiation,
  { customerId, seen }: { customerId: string; seen: SeenSubscription[] },
): Promise<string> {
  const { sql, provider } = deps;
  const toPortal = async () => {
    await requestReread(sql, customerId);
    asked.inTime();
    return provider.createPortal(customerId);
  };
  if (seen.some(isSubscription)) return toPortal();
  asked.inTime();
  const open = (await provider.listOpenCheckouts(customerId)).filter((one) => one.teamId === asked.teamId);
  const same = open.find((one) => one.url !== null && one.priceId === asked.offer.priceId);
  const allExpired = await expireOthers(deps, asked, open, same);
  // One that could not be expired was just paid. And what is incomplete beside no open session is being paid.
  const beingPaid = open.length === 0 && seen.some((one) => standingOf(one.status) === "pending");
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

/** A new session; for a new customer, should Stripe know this one no longer. */
async function begin(deps: CheckoutDeps, asked: Negotiation, customerId: string): Promise<string> {
  const create = async (customer: string) => {
    asked.inTime();
    return deps.provider.createCheckout({ ...asked.offer, teamId: asked.teamId, customerId: customer });
  };
  const url = await create(customerId);
  if (url !== null) return url;
  const again = await create(await newCustomer(deps, asked, customerId));
  if (again !== null) return again;
  throw new AppError("billing_provider_error", "The billing provider has lost the team's account.");
}

/**
 * Makes the team's customer, in place of one that Stripe has lost, whose subscriptions are over then. Whoever dies in
 * between leaves one at Stripe that nobody uses.
 */
async function newCustomer(deps: CheckoutDeps, asked: Negotiation, replaced: string | null): Promise<string> {
  const { publisher, provider, log } = deps;
  const { teamId } = asked;
  asked.inTime();
  if (replaced !== null)
    log.warn({ team: teamId, customer: replaced }, "Stripe does not know a team's customer");
  const customerId = await provider.createCustomer(teamId);
  const current = await publisher.transact(async (tx) => {
    const team = await lockTeam(tx, teamId);
    if (team === null || !(await setCustomer(tx, teamId, customerId, replaced))) return team?.customerId;
    if (replaced === null) return customerId;
    await endSubscriptions(tx, teamId);
    await settleTeam(tx, team, deps);
    return customerId;
  });
  if (current == null) throw gone();
  return current;
}

/** No subscription changes that tier: it would be paid for nothing. */
function alreadyEnterprise(): AppError {
  return new AppError("already_enterprise", "The team has the tier enterprise, which contains all others.");
}

function gone(): AppError {
  return new AppError("unauthorized", "The team is gone.");
}
