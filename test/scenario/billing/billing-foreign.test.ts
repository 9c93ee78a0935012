import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { useBilling } from "../../support/billing.ts";
import { valueIn } from "../../support/metrics.ts";
import type { Team, TestRole } from "../../support/service.ts";
import {
  eventObject,
  type MockSubscription,
  PRICES,
  subscriptionObject,
} from "../../support/stripe-events.ts";
import { until } from "../../support/until.ts";

/** Subscriptions beside the one that was bought here: none of them takes away what the customer pays for. */
const billing = useBilling();
const nowS = () => Math.floor(Date.now() / 1000);

/** A subscription at Stripe, with its event. */
async function begins(object: MockSubscription, atS = object.created): Promise<string> {
  billing.stripe.subscriptions.set(object.id, object);
  const event = eventObject("customer.subscription.created", object, atS);
  assert.equal((await billing.notify(billing.one, event)).status, 200);
  return object.id;
}

async function buys(team: Team, tier: string): Promise<string> {
  const answer = await billing.subscribe(billing.one, team.session, { tier });
  assert.match(answer.body.checkout_url, /^https:\/\/checkout\./);
  const checkout = [...billing.stripe.checkouts.values()].findLast(
    (one) => one.client_reference_id === team.id && one.status === "open",
  );
  const paid = billing.stripe.pay(checkout?.id ?? "", nowS());
  return begins(paid);
}

/** Resolves when the relay has read the team's subscriptions from Stripe, and has nothing more to do for it. */
async function read(customerId: string): Promise<void> {
  const { sql } = billing.deployment;
  await sql`
    insert into billing_rereads (customer_id) values (${customerId})
    on conflict (customer_id) do update set requested = billing_rereads.requested + 1, due_at = now()`;
  await until(
    "Stripe was read",
    async () => (await sql`select from billing_rereads where customer_id = ${customerId}`).length === 0,
  );
}

const statusOf = (id: string) => billing.stripe.subscriptions.get(id)?.status;

async function followedBy(team: Team): Promise<string | null> {
  const [row] = await billing.deployment.sql<[{ id: string | null }]>`
    select stripe_subscription_id as id from teams where id = ${team.id}`;
  return row.id;
}

describe("billing", () => {
  let relay: TestRole;

  before(async () => {
    relay = await billing.deployment.startRelay({ ...billing.stripe.settings, ...PRICES });
  });

  describe("an older subscription at a price that is none of ours, with our metadata,", () => {
    for (const metadata of [{}, { tier: "pro_plus", interval: "month" }]) {
      const claims = "tier" in metadata ? "which claims a better tier" : "which claims no tier";
      it(`${claims}, neither ends what was just bought nor counts before it`, async () => {
        const { team, customerId } = await billing.customer();
        // It is known already when Pro is bought, and the event of Pro comes before another of it.
        const made = subscriptionObject({
          id: `sub_old_${team.id}`,
          customer: customerId,
          price: "price_mug",
        });
        const foreign = { ...made, created: 10, metadata: { ...metadata, team_id: team.id } };
        const bought = subscriptionObject({
          id: `sub_pro_${team.id}`,
          customer: customerId,
          teamId: team.id,
        });
        await begins(foreign);
        await begins({ ...bought, created: nowS() });
        await begins(foreign, nowS());
        await read(customerId);
        assert.deepEqual([statusOf(bought.id), statusOf(foreign.id)], ["active", "active"]);
        assert.deepEqual([await billing.tierOf(team), await followedBy(team)], ["pro", bought.id]);
      });
    }

    it("does not keep the team from buying", async () => {
      const { team, customerId } = await billing.customer();
      const made = subscriptionObject({ id: `sub_mug_${team.id}`, customer: customerId, price: "price_mug" });
      const foreign = await begins({ ...made, created: 10, metadata: { team_id: team.id } });
      const bought = await buys(team, "pro");
      await read(customerId);
      assert.deepEqual([statusOf(bought), statusOf(foreign)], ["active", "active"]);
      assert.deepEqual([await billing.tierOf(team), await followedBy(team)], ["pro", bought]);
    });

    it("does not keep the tier when what was paid ends", async () => {
      const { team, customerId } = await billing.customer();
      const bought = await buys(team, "pro");
      const made = subscriptionObject({ id: `sub_mug_${team.id}`, customer: customerId, price: "price_mug" });
      await begins({ ...made, metadata: { team_id: team.id } });
      const ended = { ...billing.stripe.subscriptions.get(bought), status: "canceled" };
      billing.stripe.subscriptions.set(bought, ended as MockSubscription);
      await billing.notify(billing.two, eventObject("customer.subscription.deleted", ended, nowS() + 1));
      assert.equal(await billing.tierOf(team), "free");
      await read(customerId);
      assert.equal(await billing.tierOf(team), "free");
    });
  });

  describe("two subscriptions of ours", () => {
    it("are both kept; the better one counts, and the operator is notified", async () => {
      const { team, customerId } = await billing.customer();
      const object = (name: string, price: string, created: number) =>
        subscriptionObject({
          id: `sub_${name}_${team.id}`,
          customer: customerId,
          teamId: team.id,
          price,
          created,
        });
      const told = async (role: TestRole) =>
        valueIn(await role.metrics(), "rcpt_billing_paid_twice_total", {}) ?? 0;
      const [before, beforeRelay] = [await told(billing.one), await told(relay)];
      const poor = await begins(object("poor", PRICES.STRIPE_PRICE_STARTER_MONTH, 10));
      const good = await begins(object("good", PRICES.STRIPE_PRICE_PRO_MONTH, 20));
      assert.deepEqual([await billing.tierOf(team), await followedBy(team)], ["pro", good]);
      assert.equal(await told(billing.one), before + 1);
      await read(customerId);
      assert.deepEqual([statusOf(poor), statusOf(good)], ["active", "active"]);
      assert.deepEqual([await billing.tierOf(team), await followedBy(team)], ["pro", good]);
      assert.ok((await told(relay)) > beforeRelay);
      assert.ok(billing.stripe.calls.every((call) => !call.startsWith("DELETE")));
    });
  });

  describe("an event from the future", () => {
    it("does not win over what happens until then; Stripe is asked", async () => {
      const { team, customerId } = await billing.customer();
      const object = subscriptionObject({ id: `sub_${team.id}`, customer: customerId, teamId: team.id });
      await begins(object, nowS() - 10);
      const ahead = eventObject(
        "customer.subscription.updated",
        { ...object, status: "canceled" },
        nowS() + 86_400,
      );
      await billing.notify(billing.two, ahead);
      assert.equal(await billing.tierOf(team), "pro");
      await read(customerId);
      assert.equal(await billing.tierOf(team), "pro");
      const unpaid = { ...object, status: "unpaid" };
      await billing.notify(billing.one, eventObject("customer.subscription.updated", unpaid, nowS()));
      assert.equal(await billing.tierOf(team), "free");
    });
  });
});
