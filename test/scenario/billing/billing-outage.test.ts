import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { useBilling } from "../../support/billing.ts";
import type { Team } from "../../support/service.ts";
import { eventObject, PRICES, subscriptionObject } from "../../support/stripe-events.ts";
import { createTcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** Failures around billing are repaired: by Stripe's repetition, or by the relay. */
const billing = useBilling();

const settings = () => ({ ...billing.stripe.settings, ...PRICES });

describe("billing", () => {
  it("has Stripe repeat what came while the database was cut off", async () => {
    const { team, customerId } = await billing.customer();
    const { DATABASE_URL } = billing.deployment.settings;
    const gate = await createTcpGate(DATABASE_URL);
    const api = await billing.deployment.startApi({
      ...settings(),
      DATABASE_URL: throughGate(DATABASE_URL, gate),
    });
    const object = subscriptionObject({ id: `sub_${team.id}`, customer: customerId });
    const event = eventObject("customer.subscription.created", object, 100);
    gate.shut();
    const answer = await billing.notify(api, event);
    assert.deepEqual([answer.status, answer.body.code], [503, "unavailable"]);
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    gate.open();
    await until("the event is taken", async () => (await billing.notify(api, event)).status === 200);
    assert.equal(await billing.tierOf(team), "pro");
    await api.stop();
    await gate.close();
  });

  it("keeps both of two subscriptions that were paid for, and notifies every process", async () => {
    const team = await billing.deployment.team("free");
    const paid = await payTwice(team);
    for (const subscription of [...paid].reverse())
      await billing.notify(billing.one, eventObject("customer.subscription.created", subscription, 100));
    const { sql } = billing.deployment;
    await sql`insert into billing_rereads (customer_id) values (${paid[0].customer})`;
    const relay = await billing.deployment.startRelay(settings());
    await until("Stripe was read", async () => (await sql`select from billing_rereads`).length === 0);
    const statuses = paid.map(({ id }) => billing.stripe.subscriptions.get(id)?.status);
    assert.deepEqual(statuses, ["active", "active"]);
    await billing.treatedAsPro(billing.two, team, true);
    assert.equal(await billing.tierOf(team), "pro");
    await relay.stop();
  });

  it("cancels the subscription of a team that is deleted while Stripe does not answer", async () => {
    const { team, customerId } = await billing.customer();
    const id = `sub_${team.id}`;
    const object = subscriptionObject({ id, customer: customerId, teamId: team.id });
    billing.stripe.subscriptions.set(id, object);
    await billing.notify(billing.one, eventObject("customer.subscription.created", object, 100));
    billing.stripe.fail({ call: "/v1/", times: 2 });
    const relay = await billing.deployment.startRelay(settings());
    await billing.deployment.sql`delete from teams where id = ${team.id}`;
    await until("it is cancelled", () => billing.stripe.subscriptions.get(id)?.status === "canceled");
    await relay.stop();
  });
});

/** As from two tabs: the second page was opened before the first was paid. */
async function payTwice(team: Team) {
  await billing.subscribe(billing.one, team.session);
  const [checkout] = [...billing.stripe.checkouts.values()].filter(
    (one) => one.client_reference_id === team.id,
  );
  assert.ok(checkout);
  const copy = { ...checkout, id: `${checkout.id}_b`, metadata: { ...checkout.metadata } };
  billing.stripe.checkouts.set(copy.id, copy);
  return [billing.stripe.pay(checkout.id, 10), billing.stripe.pay(copy.id, 20)] as const;
}
