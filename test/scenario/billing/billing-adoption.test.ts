import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { useBilling } from "../../support/billing.ts";
import type { Team } from "../../support/service.ts";
import { eventObject, type MockEvent, PRICES, subscriptionObject } from "../../support/stripe-events.ts";
import { until } from "../../support/until.ts";

/** A customer without a team: made by hand at Stripe, or by a payment link. */
const billing = useBilling();

const told = (team: Team, customer: string, status: string, created: number, name = "a") =>
  eventObject(
    "customer.subscription.updated",
    subscriptionObject({ id: `sub_${name}_${team.id}`, customer, status, created, teamId: team.id }),
    created,
  );

/** Delivers events of one customer to two processes so that both have begun with one before one has ended. */
async function atOnce(teams: Team[], events: MockEvent[]): Promise<number[]> {
  const { sql } = billing.deployment;
  const waiting = async () => {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return row.count;
  };
  const answers = await sql.begin(async (tx) => {
    for (const { id } of teams) await tx`select from teams where id = ${id} for update`;
    const under = events.map((event, i) => billing.notify(i % 2 === 0 ? billing.one : billing.two, event));
    await until("one waits in each process", async () => (await waiting()) === 2);
    return { under };
  });
  return (await Promise.all(answers.under)).map(({ status }) => status);
}

const isDue = async (customer: string) =>
  (await billing.deployment.sql`select from billing_rereads where customer_id = ${customer}`).length === 1;

async function customerOf(team: Team): Promise<string | null> {
  const [row] = await billing.deployment.sql<[{ customer: string | null }]>`
    select stripe_customer_id as customer from teams where id = ${team.id}`;
  return row.customer;
}

describe("the first notifications of a customer without a team", () => {
  it("all count when they come at once, and Stripe is asked", async () => {
    for (const order of [
      ["incomplete", "active"],
      ["active", "incomplete"],
    ]) {
      const team = await billing.deployment.team("free");
      const customer = `cus_new_${team.id}`;
      const events = order.map((status) => told(team, customer, status, status === "active" ? 101 : 100));
      assert.deepEqual(await atOnce([team], events), [200, 200]);
      assert.equal(await billing.tierOf(team), "pro", order.join());
      assert.ok(await isDue(customer));
    }
  });

  it("of several subscriptions leave one to count, and the rest to the relay", async () => {
    const team = await billing.deployment.team("free");
    const customer = `cus_new_${team.id}`;
    const events = ["a", "b", "c", "d"].map((name, i) => told(team, customer, "active", 100 + i, name));
    assert.deepEqual(await atOnce([team], events.reverse()), [200, 200, 200, 200]);
    const { sql } = billing.deployment;
    const known = await sql`select from billing_subscriptions where team_id = ${team.id}`;
    assert.equal(known.length, 4);
    const [row] = await sql`select stripe_subscription_id as id from teams where id = ${team.id}`;
    assert.equal(row?.id, `sub_a_${team.id}`);
    assert.ok(await isDue(customer));
  });

  it("that name two teams give the customer to one, without a failure", async () => {
    const teams = [await billing.deployment.team("free"), await billing.deployment.team("free")];
    const customer = `cus_new_${teams[0]?.id}`;
    const events = teams.map((team) => told(team, customer, "active", 100));
    assert.deepEqual(await atOnce(teams, events), [200, 200]);
    const tiers = await Promise.all(teams.map((team) => billing.tierOf(team)));
    assert.deepEqual(tiers.sort(), ["free", "pro"]);
  });
});

describe("a completed checkout of a customer without a team", () => {
  it("gives the customer to no team: any client with a link may write any team into it", async () => {
    const team = await billing.deployment.team("free");
    const session = {
      id: `cs_link_${team.id}`,
      mode: "subscription",
      customer: `cus_stranger_${team.id}`,
      subscription: `sub_link_${team.id}`,
      client_reference_id: team.id,
      payment_status: "paid",
      created: 100,
      metadata: { price_id: PRICES.STRIPE_PRICE_PRO_MONTH },
    };
    const answer = await billing.notify(billing.one, eventObject("checkout.session.completed", session, 100));
    assert.equal(answer.status, 200);
    assert.deepEqual([await customerOf(team), await billing.tierOf(team)], [null, "free"]);
    // That customer's subscription names no team, and the team still gets a customer of its own.
    const subscribed = await billing.subscribe(billing.two, team.session);
    assert.match(subscribed.body.checkout_url, /^https:\/\/checkout\./);
    assert.ok(await customerOf(team));
  });
});
