import type { BillingConfig, Config } from "../../config/config.ts";
import { type DoctorFinding, type DoctorGroup, errorLine, fail, ok, skipped, warn } from "./finding.ts";

const WITHIN_MS = 8_000;
const FOR_SALE = 6;

const modeOf = (key: string) => /^(?:sk|rk)_(live|test)_/.exec(key)?.[1] ?? null;

/** Checks of Stripe's settings that do not call Stripe. Pure. */
export function judgeBilling(billing: BillingConfig, { http }: Pick<Config, "http">): DoctorFinding[] {
  const found: DoctorFinding[] = [];
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

interface Price {
  active?: boolean;
  recurring?: { interval?: string } | null;
}

/**
 * A price at Stripe: whether it is for sale, and its period. Pure.
 * @param body of an answer with status 200; null: unreadable
 */
export function judgePrice(
  id: string,
  plan: { tier: string; interval: string } | undefined,
  { status, body }: { status: number; body: Price | null },
): DoctorFinding {
  const check = "prices";
  const name = `${plan?.tier} by the ${plan?.interval}`;
  if (status === 401) return fail(check, "Stripe refuses STRIPE_SECRET_KEY.", "Set the key in force.");
  if (status === 404)
    return fail(
      check,
      `Stripe knows no price ${id} (${name}).`,
      "Mind that prices of live and test mode differ.",
    );
  if (status === 403)
    return warn(
      check,
      `Stripe does not let this key read the price ${id} (${name}; status 403).`,
      "A restricted key needs the right to read prices, for this look alone.",
    );
  if (status !== 200 || body === null)
    return warn(
      check,
      `Stripe does not tell of the price ${id} (${name}; status ${status}).`,
      "Nothing is known of it: ask again later (429: too often; 5xx: trouble of theirs).",
    );
  if (body.active !== true)
    return fail(check, `The price ${id} (${name}) is archived.`, "Activate it, or set another.");
  if (body.recurring?.interval !== plan?.interval)
    return fail(
      check,
      `The price ${id} (${name}) is not charged by the ${plan?.interval}.`,
      "Set the right one.",
    );
  return ok(check, `${id} is ${name}.`);
}

async function askForPrice(billing: BillingConfig, id: string): Promise<DoctorFinding> {
  const url = `${billing.apiBase}/v1/prices/${encodeURIComponent(id)}`;
  const answer = await fetch(url, {
    headers: { Authorization: `Bearer ${billing.secretKey}` },
    redirect: "error",
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const { status } = answer;
  // A proxy's page is not a price; the body of an error is not needed.
  const body = status === 200 ? ((await answer.json().catch(() => null)) as Price | null) : null;
  if (status !== 200) await answer.body?.cancel();
  return judgePrice(id, billing.prices.get(id), { status, body });
}

export const BILLING_GROUP: DoctorGroup = {
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
          fail("Stripe", `Stripe cannot be asked (${errorLine(error)}).`, "Open https to api.stripe.com."),
        );
      }
    }
  },
};
