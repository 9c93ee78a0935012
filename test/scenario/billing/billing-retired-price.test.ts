import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { useBilling } from "../../support/billing.ts";
import { eventObject, PRICES } from "../../support/stripe-events.ts";

/** A customer who bought at a price that is no longer for sale keeps what was sold, as long as it is paid. */
const billing = useBilling();

describe("a subscription at a retired price", () => {
  it("gives what was sold, from its first event on, and again after it was unpaid", async () => {
    const team = await billing.deployment.team("free");
    await billing.subscribe(billing.one, team.session, { tier: "starter", interval: "year" });
    const [checkout] = [...billing.stripe.checkouts.values()].filter(
      (one) => one.client_reference_id === team.id,
    );
    assert.ok(checkout);
    const paid = billing.stripe.pay(checkout.id);
    const { STRIPE_PRICE_STARTER_YEAR: _retired, ...forSale } = PRICES;
    const api = await billing.deployment.startApi({ ...billing.stripe.settings, ...forSale });
    const told = [
      ["incomplete", "free"],
      ["active", "starter"],
      ["unpaid", "free"],
      ["active", "starter"],
      ["canceled", "free"],
    ] as const;
    for (const [i, [status, tier]] of told.entries()) {
      await billing.notify(api, eventObject("customer.subscription.updated", { ...paid, status }, 2_000 + i));
      assert.equal(await billing.tierOf(team), tier, `${i}: ${status}`);
      const { body } = await api.get("/v1/billing", team.liveKey);
      if (tier === "starter") assert.deepEqual([body.status, body.interval], ["active", "year"]);
    }
    await api.stop();
  });

  it("counts at once when its checkout is paid, as any other", async () => {
    const team = await billing.deployment.team("free");
    await billing.subscribe(billing.one, team.session, { tier: "starter", interval: "year" });
    const [checkout] = [...billing.stripe.checkouts.values()].filter(
      (one) => one.client_reference_id === team.id,
    );
    assert.ok(checkout);
    billing.stripe.pay(checkout.id);
    const api = await billing.deployment.startApi({ ...billing.stripe.settings });
    await billing.notify(api, eventObject("checkout.session.completed", checkout, 2_000));
    assert.equal(await billing.tierOf(team), "starter");
    await api.stop();
  });
});
