import type { BillingConfig, Config } from "../../core/config.ts";
import { type Finding, fail, type Group, ok, reasonOf, skipped, warn } from "./finding.ts";

const WITHIN_MS = 8_000;
const FOR_SALE = 6;

const modeOf = (key: string) => /^(?:sk|rk)_(live|test)_/.exec(key)?.[1] ?? null;

/** What can be told of Stripe's settings without asking Stripe. Pure. */
export function judgeBilling(billing: BillingConfig, { http }: Pick<Config, "http">): Finding[] {
  const found: Finding[] = [];
  const mode = modeOf(billing.secretKey);
  if (mode === null)
    found.push(
      warn(
        "STRIPE_SECRET_KEY",
        "STRIPE_SECRET_KEY does not begin as Stripe's secret keys do (sk_live_, sk_test_, rk_…).",
        "Take it from Developers, API keys; the publishable key (pk_…) does not do.",
      ),
    );
  else found.push(ok("STRIPE_SECRET_KEY", `A key of Stripe's ${mode} mode.`));
  if (mode === "test" && http.publicUrl?.startsWith("https:"))
    found.push(
      warn(
        "mode",
        "Stripe is in test mode: nobody pays.",
        "Set the live key, its webhook secret and prices.",
      ),
    );
  if (!billing.webhookSecret.startsWith("whsec_"))
    found.push(
      warn(
        "STRIPE_WEBHOOK_SECRET",
        "STRIPE_WEBHOOK_SECRET does not begin with whsec_: every notification would be refused.",
        "Take it from the webhook endpoint at Stripe.",
      ),
    );
  if (billing.prices.size === 0)
    found.push(
      warn("prices", "Nothing is for sale.", "Set STRIPE_PRICE_<TIER>_<INTERVAL> to prices of Stripe."),
    );
  else
    found.push(
      ok("prices", `${billing.prices.size} of ${FOR_SALE} pairs of tier and interval are for sale.`),
    );
  const odd = [...billing.prices.keys()].filter((id) => !id.startsWith("price_"));
  if (odd.length > 0)
    found.push(
      warn("prices", `${odd.join(", ")} do not begin with price_.`, "A product's id (prod_…) does not do."),
    );
  return found;
}

/** A price as Stripe has it: whether it is for sale, and by which period. */
async function askForPrice(billing: BillingConfig, id: string): Promise<Finding> {
  const plan = billing.prices.get(id);
  const url = `${billing.apiBase}/v1/prices/${encodeURIComponent(id)}`;
  const answer = await fetch(url, {
    headers: { Authorization: `Bearer ${billing.secretKey}` },
    redirect: "error",
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const body = (await answer.json()) as { active?: boolean; recurring?: { interval?: string } | null };
  const name = `${plan?.tier} by the ${plan?.interval}`;
  if (answer.status === 401)
    return fail("prices", "Stripe refuses STRIPE_SECRET_KEY.", "Set the key in force.");
  if (answer.status !== 200)
    return fail(
      "prices",
      `Stripe knows no price ${id} (${name}).`,
      "Mind that prices of live and test mode differ.",
    );
  if (body.active !== true)
    return fail("prices", `The price ${id} (${name}) is archived.`, "Activate it, or set another.");
  if (body.recurring?.interval !== plan?.interval)
    return fail(
      "prices",
      `The price ${id} (${name}) is not charged by the ${plan?.interval}.`,
      "Set the right one.",
    );
  return ok("prices", `${id} is ${name}.`);
}

export const BILLING_GROUP: Group = {
  name: "billing",
  title: "billing",
  async examine({ config, online }, { note }) {
    const { billing } = config;
    if (billing === null) return note(skipped("Stripe", "STRIPE_SECRET_KEY is not set: nothing is sold."));
    note(...judgeBilling(billing, config));
    if (!online) return note(skipped("Stripe", "Stripe was not asked; --online does."));
    for (const id of billing.prices.keys()) {
      try {
        note(await askForPrice(billing, id));
      } catch (error) {
        return note(
          fail("Stripe", `Stripe cannot be asked (${reasonOf(error)}).`, "Open https to api.stripe.com."),
        );
      }
    }
  },
};
