import type { BillingConfig, BillingInterval, BillingPlan } from "../../config/config.ts";
import type { Tier } from "../../config/tiers.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import type { Actor } from "../identity/actor.ts";
import { createCheckouts } from "./checkout.ts";
import { createBillingEvents, type StripeEvent } from "./events.ts";
import type { BillingProvider } from "./provider.ts";
import { verifySignature } from "./signature.ts";
import { planOf } from "./state.ts";
import { findSubscription, findTeamBilling } from "./subscription-sql.ts";

/** A team's view of its subscription. */
export interface BillingOverview {
  tier: Tier;
  /** Stripe's status; null: there is no subscription. */
  status: string | null;
  /** null: none, or unknown. */
  interval: BillingInterval | null;
  current_period_end: string | null;
  cancel_at_period_end: boolean;
}

export interface Billing {
  /** @throws AppError `unauthorized` when the team is gone */
  overview(actor: Actor): Promise<BillingOverview>;
  /**
   * The page to pay for a tier; with a subscription, the page to manage it.
   * @throws AppError `billing_unconfigured` without billing, or without a price for this; else see `Checkouts`
   */
  subscribe(actor: Actor, plan: BillingPlan): Promise<{ checkout_url: string }>;
  /** The page to manage what the team bought. @throws AppError `billing_unconfigured` without billing; else see `Checkouts` */
  portal(actor: Actor): Promise<{ portal_url: string }>;
  /** @throws AppError `billing_unconfigured`, `invalid_signature` */
  verify(body: Uint8Array, signatureHeader: string): void;
  /** Processes a notification whose signature was verified. @throws AppError see `BillingEvents` */
  receive(event: StripeEvent): Promise<void>;
}

export interface BillingDeps {
  sql: Database;
  publisher: ChangePublisher;
  clock: Clock;
  log: Logger;
  /** A team pays for more than one subscription. */
  onPaidTwice(): void;
  /** null: no billing. */
  stripe: { config: BillingConfig; provider: BillingProvider } | null;
}

function unconfigured(): AppError {
  return new AppError("billing_unconfigured", "Billing is not configured in this deployment.");
}

export function createBilling(deps: BillingDeps): Billing {
  const { sql, clock } = deps;
  const parts = deps.stripe === null ? null : partsOf(deps, deps.stripe);
  const configured = () => {
    if (parts === null) throw unconfigured();
    return parts;
  };

  return {
    async overview(actor) {
      const team = await findTeamBilling(sql, actor.teamId);
      if (team === null) throw new AppError("unauthorized", "The team has been deleted.");
      const { subscriptionId, tier } = team;
      const row = subscriptionId === null ? null : await findSubscription(sql, team.id, subscriptionId);
      const plan = row === null ? null : planOf(row, deps.stripe?.config.prices ?? new Map());
      const endS = row?.periodEndS ?? null;
      return {
        tier,
        status: row?.status ?? null,
        interval: plan?.interval ?? null,
        current_period_end: endS === null ? null : new Date(endS * 1000).toISOString(),
        cancel_at_period_end: row?.cancelAtPeriodEnd ?? false,
      };
    },
    async subscribe(actor, { tier, interval }) {
      const { config, checkouts } = configured();
      const sold = [...config.prices].find(([, plan]) => plan.tier === tier && plan.interval === interval);
      if (sold === undefined)
        throw new AppError("billing_unconfigured", `No price is configured for ${tier} by the ${interval}.`);
      const [priceId] = sold;
      return { checkout_url: await checkouts.open(actor.teamId, { tier, interval, priceId }) };
    },
    async portal(actor) {
      return { portal_url: await configured().checkouts.manage(actor.teamId) };
    },
    verify(body, header) {
      verifySignature({ header, body, secret: configured().config.webhookSecret }, clock);
    },
    receive: (event) => configured().events.receive(event),
  };
}

function partsOf(deps: BillingDeps, { config, provider }: NonNullable<BillingDeps["stripe"]>) {
  const plans = config.prices;
  return {
    config,
    checkouts: createCheckouts({ ...deps, provider, plans }),
    events: createBillingEvents({ ...deps, plans }),
  };
}
