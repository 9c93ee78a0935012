import type { Stripe } from "stripe";
import type { BillingConfig, BillingPlan } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { isLoopbackHost } from "../../config/local-url.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { SeenSubscription } from "./state.ts";
import { readCheckout, readSubscription, type SeenCheckout } from "./subscription.ts";

export interface NewCheckout extends BillingPlan {
  teamId: string;
  customerId: string;
  priceId: string;
}

/**
 * Stripe, as far as billing uses it. Every call is bounded (LIMITS.billing.callTimeoutMs an attempt) and repeated at most
 * LIMITS.billing.callRetries times. Only repetitions within a call share an idempotency key, as Stripe's client does it:
 * Stripe repeats its first answer to a key for a day, its own failures too.
 * @throws AppError from each method: `billing_provider_error` for every failure; the cause is only logged
 */
export interface BillingProvider {
  /** A new customer, named after the team. */
  createCustomer(teamId: string): Promise<string>;
  /** All subscriptions of a customer, ended ones too, latest first; null: Stripe does not know the customer. */
  listSubscriptions(customerId: string): Promise<SeenSubscription[] | null>;
  /** Empty for a customer unknown to Stripe. */
  listOpenCheckouts(customerId: string): Promise<SeenCheckout[]>;
  /** URL of a new Checkout session; null: Stripe does not know the customer. */
  createCheckout(checkout: NewCheckout): Promise<string | null>;
  /** False: it was no longer open. */
  expireCheckout(id: string): Promise<boolean>;
  /** URL of a new session of the billing portal; null: Stripe does not know the customer. */
  createPortal(customerId: string): Promise<string | null>;
  /** Ends a deleted team's subscription at once; one that Stripe does not know, or that has ended, counts as ended. */
  cancelSubscription(id: string): Promise<void>;
}

/** An unusable answer. Its message says why, and quotes nothing of it. */
class UnusableAnswer extends Error {}

function isStripeError(error: unknown): error is Stripe.errors.StripeError {
  return error instanceof Error && "rawType" in error && "statusCode" in error;
}

const isMissing = (error: unknown): boolean => isStripeError(error) && error.code === "resource_missing";
const isMissingCustomer = (error: unknown): boolean =>
  isMissing(error) && (error as Stripe.errors.StripeInvalidRequestError).param === "customer";
const isInvalidRequest = (error: unknown): boolean =>
  isStripeError(error) && error.rawType === "invalid_request_error" && error.statusCode === 400;

/** The loggable part of an error: Stripe's messages quote keys and customers' data. */
function failureOf(error: unknown): Record<string, unknown> {
  if (error instanceof UnusableAnswer) return { kind: "UnusableAnswer", reason: error.message };
  if (!isStripeError(error)) return { kind: error instanceof Error ? error.constructor.name : typeof error };
  return { kind: error.type, code: error.code, status: error.statusCode, stripe_request: error.requestId };
}

/** Stripe's client, created on first use: its package takes 20 MB that most deployments do not need. */
function lazyClient(config: BillingConfig): () => Promise<Stripe> {
  let made: Promise<Stripe> | null = null;
  async function make(): Promise<Stripe> {
    const { default: Client } = await import("stripe");
    const base = new URL(config.apiBase);
    return new Client(config.secretKey, {
      protocol: base.protocol === "http:" ? "http" : "https",
      host: base.hostname,
      port: base.port === "" ? (base.protocol === "http:" ? 80 : 443) : Number(base.port),
      timeout: LIMITS.billing.callTimeoutMs,
      maxNetworkRetries: LIMITS.billing.callRetries,
      telemetry: false,
      // Stripe's other client bounds the silence of a socket; this one the whole call, to the end of the body.
      httpClient: Client.createFetchHttpClient((url, init) => fetch(url, { ...init, redirect: "error" })),
    });
  }
  return () => {
    made ??= make();
    return made;
  };
}

export interface BillingProviderDeps {
  config: BillingConfig;
  log: Logger;
}

class StripeProvider implements BillingProvider {
  readonly #deps: BillingProviderDeps;
  readonly #client: () => Promise<Stripe>;

  constructor(deps: BillingProviderDeps) {
    this.#deps = deps;
    this.#client = lazyClient(deps.config);
  }

  createCustomer(teamId: string): Promise<string> {
    return this.#call("create customer", async (stripe) => {
      const { id } = await stripe.customers.create({ metadata: { team_id: teamId } });
      return present(id);
    });
  }

  listSubscriptions(customer: string): Promise<SeenSubscription[] | null> {
    return this.#call<SeenSubscription[] | null>(
      "list subscriptions",
      async (stripe) => {
        const limit = LIMITS.billing.subscriptions;
        const { data } = await stripe.subscriptions.list({ customer, status: "all", limit });
        return data.map((one) => readSubscription(one, (priceId) => this.#isForSale(priceId)));
      },
      { when: isMissing, value: null },
    );
  }

  listOpenCheckouts(customer: string): Promise<SeenCheckout[]> {
    return this.#call<SeenCheckout[]>(
      "list checkouts",
      async (stripe) => {
        const limit = LIMITS.billing.checkouts;
        const { data } = await stripe.checkout.sessions.list({ customer, status: "open", limit });
        const read = data.map(readCheckout);
        return read.map((one) => ({
          ...one,
          url: one.url === null ? null : pageOf(one.url, this.#deps.config),
        }));
      },
      { when: isMissing, value: [] },
    );
  }

  createCheckout(checkout: NewCheckout): Promise<string | null> {
    return this.#call<string | null>(
      "create checkout",
      (stripe) => createSession(stripe, this.#deps.config, checkout),
      {
        when: isMissingCustomer,
        value: null,
      },
    );
  }

  expireCheckout(id: string): Promise<boolean> {
    return this.#call<boolean>(
      "expire checkout",
      (stripe) => stripe.checkout.sessions.expire(id).then(() => true),
      {
        when: isInvalidRequest,
        value: false,
      },
    );
  }

  createPortal(customer: string): Promise<string | null> {
    return this.#call<string | null>(
      "create portal session",
      async (stripe) => {
        const made = await stripe.billingPortal.sessions.create({
          customer,
          return_url: this.#deps.config.returnUrl,
        });
        return pageOf(made.url, this.#deps.config);
      },
      { when: isMissingCustomer, value: null },
    );
  }

  cancelSubscription(id: string): Promise<void> {
    return this.#call<void>(
      "cancel subscription",
      (stripe) =>
        stripe.subscriptions.cancel(id, { prorate: false, invoice_now: false }).then(() => undefined),
      { when: isMissing, value: undefined },
    );
  }

  #isForSale(priceId: string) {
    return this.#deps.config.prices.has(priceId);
  }

  /** @param expected what some failures mean instead */
  async #call<T>(
    name: string,
    work: (stripe: Stripe) => Promise<T>,
    expected?: { when(error: unknown): boolean; value: T },
  ): Promise<T> {
    try {
      return await work(await this.#client());
    } catch (error) {
      if (expected?.when(error) === true) return expected.value;
      this.#deps.log.warn({ call: name, ...failureOf(error) }, "the billing provider failed");
      throw new AppError("billing_provider_error", "The billing provider failed. Retry later.");
    }
  }
}

export function createBillingProvider(deps: BillingProviderDeps): BillingProvider {
  return new StripeProvider(deps);
}

/** Stripe's types promise a text; a stand-in for Stripe may omit it. */
function present(text: string | null): string {
  if (typeof text !== "string" || text === "") throw new UnusableAnswer("a required value is missing");
  return text;
}

/**
 * The URL of a payment page: https, without a user in front of the host. A stand-in for Stripe on this machine may use
 * http.
 */
function pageOf(url: string | null, { apiBase }: BillingConfig): string {
  const text = present(url);
  if (text.length > LIMITS.billing.pageUrlChars || !URL.canParse(text))
    throw new UnusableAnswer("the page's address is not a URL");
  const page = new URL(text);
  if (page.username !== "" || page.password !== "")
    throw new UnusableAnswer("the page's address names a user");
  const isLocal = [page, new URL(apiBase)].every(({ hostname }) => isLoopbackHost(hostname));
  if (page.protocol === "https:" || (page.protocol === "http:" && isLocal)) return page.href;
  throw new UnusableAnswer("the page's address is not https");
}

/** The page to return to, told that the customer has paid: the portal then waits for Stripe's notification. */
function paidUrlOf(returnUrl: string): string {
  const url = new URL(returnUrl);
  url.searchParams.set("checkout", "paid");
  return url.href;
}

async function createSession(stripe: Stripe, config: BillingConfig, checkout: NewCheckout): Promise<string> {
  const { teamId, customerId, priceId, tier, interval } = checkout;
  const sold = { team_id: teamId, tier, interval };
  const { url } = await stripe.checkout.sessions.create({
    mode: "subscription",
    customer: customerId,
    client_reference_id: teamId,
    line_items: [{ price: priceId, quantity: 1 }],
    // `price_id` tells later whether the session is for the requested price.
    metadata: { ...sold, price_id: priceId },
    subscription_data: { metadata: sold },
    success_url: paidUrlOf(config.returnUrl),
    cancel_url: config.returnUrl,
  });
  return pageOf(url, config);
}
