import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { type Problem, useBilling } from "../../support/billing.ts";
import { ContractProblem } from "../../support/contract.ts";
import fc from "../../support/properties.ts";
import type { Response, SendOptions } from "../../support/service.ts";
import {
  eventObject,
  MONTH_S,
  PRICES,
  signedHeaders,
  subscriptionObject,
} from "../../support/stripe-events.ts";
import { afterASecond } from "../../support/until.ts";

/** Stripe's events determine the team's tier: applied once, in Stripe's order, on all processes at once. */
const billing = useBilling();

function assertProblem(answer: Response<unknown>, status: number, code: string): void {
  v.assert(ContractProblem, answer.body);
  assert.deepEqual([answer.status, answer.body.code], [status, code]);
}

const post = (options: SendOptions) => billing.one.send<Problem>("POST", "/webhooks/stripe", options);
const isReceived = ({ status, body }: Response<unknown>) =>
  assert.deepEqual([status, body], [200, { received: true }]);

/** A team's subscription; `tell` delivers events about it. */
async function subscription() {
  const { team, customerId } = await billing.customer();
  const tell = async (
    status: string,
    created: number,
    rest: { price?: string; kind?: string; id?: string } = {},
  ) => {
    const { price = PRICES.STRIPE_PRICE_PRO_MONTH, kind = "updated", id = `sub_${team.id}` } = rest;
    const object = subscriptionObject({ id, customer: customerId, status, price, teamId: team.id });
    isReceived(
      await billing.notify(billing.one, eventObject(`customer.subscription.${kind}`, object, created)),
    );
  };
  return { team, customerId, tell, tier: () => billing.tierOf(team) };
}

describe("a notification", () => {
  it("moves the tier, in every process within a second, and shows in GET /v1/billing", async () => {
    const { team, tell } = await subscription();
    await billing.treatedAsPro(billing.one, team, false);
    await billing.treatedAsPro(billing.two, team, false);
    await tell("active", 100);
    await afterASecond();
    for (const api of [billing.one, billing.two]) assert.equal(await billing.isTreatedAsPro(api, team), true);
    const { body } = await billing.two.get("/v1/billing", team.liveKey);
    assert.deepEqual(body, {
      tier: "pro",
      status: "active",
      interval: "month",
      current_period_end: new Date((1_000 + MONTH_S) * 1000).toISOString(),
      cancel_at_period_end: false,
    });
    await tell("canceled", 200, { kind: "deleted" });
    await afterASecond();
    assert.equal(await billing.isTreatedAsPro(billing.two, team), false);
    assert.equal((await billing.two.get("/v1/billing", team.liveKey)).body.status, null);
  });

  it("of one id 50 times at once on two processes has one effect", async () => {
    const { team, customerId } = await billing.customer();
    const object = subscriptionObject({ id: `sub_${team.id}`, customer: customerId });
    const event = eventObject("customer.subscription.created", object, 100);
    const { sql } = billing.deployment;
    const effects = async () => {
      const [row] = await sql<[{ revision: number; events: number; changes: number }]>`
        select (select coalesce(sum(revision), 0)::int from billing_subscriptions where team_id = ${team.id}) as revision,
          (select count(*)::int from stripe_events where id = ${event.id}) as events,
          (select count(*)::int from auth_changes where kind = 'team' and subject = ${team.id}) as changes`;
      return row;
    };
    const before = await effects();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => billing.notify(i % 2 === 0 ? billing.one : billing.two, event)),
    );
    for (const answer of answers) isReceived(answer);
    assert.deepEqual(await effects(), { revision: 1, events: 1, changes: before.changes + 1 });
    assert.equal(await billing.tierOf(team), "pro");
    await sql`update teams set tier = 'starter' where id = ${team.id}`;
    isReceived(await billing.notify(billing.two, event));
    assert.equal(await billing.tierOf(team), "starter", "a repetition has no effect");
  });

  it("that is older than what is known changes nothing", async () => {
    const { tell, tier } = await subscription();
    await tell("active", 200, { price: PRICES.STRIPE_PRICE_PRO_PLUS_MONTH });
    await tell("active", 100);
    await tell("incomplete", 50, { kind: "created" });
    await tell("canceled", 150, { kind: "deleted" });
    assert.equal(await tier(), "pro_plus");
  });

  it("among many at once on two processes counts by Stripe's time", async () => {
    const { team, customerId } = await billing.customer();
    const life = Array.from({ length: 40 }, (_, i) => {
      const [status, price] =
        i === 39
          ? ["past_due", PRICES.STRIPE_PRICE_PRO_PLUS_MONTH]
          : ["active", PRICES.STRIPE_PRICE_PRO_MONTH];
      const object = subscriptionObject({ id: `sub_${team.id}`, customer: customerId, status, price });
      return eventObject("customer.subscription.updated", object, 100 + i);
    });
    // The newest is neither the first nor the last to come.
    const order = [...life.slice(20), ...life.slice(0, 20)];
    const answers = await Promise.all(
      order.map((event, i) => billing.notify(i % 2 === 0 ? billing.one : billing.two, event)),
    );
    for (const answer of answers) isReceived(answer);
    assert.equal(await billing.tierOf(team), "pro_plus");
    const { body } = await billing.one.get("/v1/billing", team.liveKey);
    assert.equal(body.status, "past_due");
  });

  it("of the same second loses to a terminal state, in either order, and Stripe is to be asked", async () => {
    for (const order of [
      ["active", "canceled"],
      ["canceled", "active"],
      ["unpaid", "active"],
      ["active", "incomplete_expired"],
    ]) {
      const { tell, tier, customerId } = await subscription();
      await tell("active", 99);
      for (const status of order) await tell(status, 100);
      assert.equal(await tier(), "free", order.join());
      const due = await billing.deployment.sql`select from billing_rereads where customer_id = ${customerId}`;
      assert.equal(due.length, 1);
    }
  });

  it("of past_due keeps the tier until Stripe says unpaid; paused is free, resumed has it again", async () => {
    const { tell, tier } = await subscription();
    const steps: [string, string, string][] = [
      ["active", "updated", "pro"],
      ["past_due", "updated", "pro"],
      ["unpaid", "updated", "free"],
      ["active", "updated", "pro"],
      ["paused", "paused", "free"],
      ["active", "resumed", "pro"],
      // Deleted, whatever status the object has.
      ["active", "deleted", "free"],
    ];
    for (const [i, [status, kind, expected]] of steps.entries()) {
      await tell(status, 100 + i, { kind });
      assert.equal(await tier(), expected, `${kind} ${status}`);
    }
  });

  it("of an unknown price keeps the tier; enterprise is the operator's alone", async () => {
    const { team, tell, tier } = await subscription();
    await tell("active", 100);
    await tell("active", 101, { price: "price_new" });
    assert.equal(await tier(), "pro");
    await billing.deployment.sql`update teams set tier = 'enterprise' where id = ${team.id}`;
    await tell("active", 102);
    await tell("canceled", 103, { kind: "deleted" });
    assert.equal(await tier(), "enterprise");
  });

  it("of a followed subscription counts when neither price nor metadata show any more whose it is", async () => {
    const { team, customerId } = await billing.customer();
    const tell = async (kind: string, created: number, price?: string) => {
      const object = subscriptionObject({
        id: `sub_${team.id}`,
        customer: customerId,
        ...(price && { price }),
      });
      isReceived(
        await billing.notify(billing.one, eventObject(`customer.subscription.${kind}`, object, created)),
      );
    };
    await tell("created", 100);
    assert.equal(await billing.tierOf(team), "pro");
    await tell("deleted", 101, "price_retired");
    assert.equal(await billing.tierOf(team), "free");
  });

  it("that a checkout was paid counts at once, should the subscription's own be late", async () => {
    const team = await billing.deployment.team("free");
    await billing.subscribe(billing.one, team.session, { tier: "pro_plus" });
    const [checkout] = [...billing.stripe.checkouts.values()].filter(
      (one) => one.client_reference_id === team.id,
    );
    assert.ok(checkout);
    const paid = billing.stripe.pay(checkout.id);
    isReceived(await billing.notify(billing.two, eventObject("checkout.session.completed", checkout, 5_000)));
    assert.equal(await billing.tierOf(team), "pro_plus");
    isReceived(await billing.notify(billing.one, eventObject("customer.subscription.created", paid, 5_000)));
    assert.equal(await billing.tierOf(team), "pro_plus");
    const answer = await billing.subscribe(billing.one, team.session);
    assert.match(answer.body.checkout_url, /^https:\/\/portal\./);
  });
});

describe("a notification is ignored", () => {
  const subscriptionOf = (
    customer: string,
    rest: { teamId?: string; price?: string; status?: string } = {},
  ) =>
    eventObject("customer.subscription.updated", subscriptionObject({ id: "sub_x", customer, ...rest }), 100);

  it("of an unknown kind", async () => {
    for (const type of ["charge.refunded", "customer.subscription.trial_will_end", "nothing.we.know"])
      isReceived(await billing.notify(billing.one, eventObject(type, { any: "thing" }, 1)));
  });

  it("of a customer whose team its metadata does not name", async () => {
    const [mine, other] = [await billing.customer(), await billing.customer()];
    isReceived(await billing.notify(billing.one, subscriptionOf(mine.customerId, { teamId: other.team.id })));
    isReceived(await billing.notify(billing.one, subscriptionOf("cus_stranger", { teamId: mine.team.id })));
    isReceived(await billing.notify(billing.one, subscriptionOf(mine.customerId, { teamId: "team_\0" })));
    assert.deepEqual([await billing.tierOf(mine.team), await billing.tierOf(other.team)], ["free", "free"]);
  });

  it("of a customer without a team, and of another product", async () => {
    isReceived(await billing.notify(billing.one, subscriptionOf("cus_stranger")));
    isReceived(
      await billing.notify(billing.one, subscriptionOf("cus_stranger", { teamId: "team_of_elsewhere" })),
    );
    const { team, customerId } = await billing.customer();
    await billing.deployment.sql`update teams set tier = 'starter' where id = ${team.id}`;
    const mug = subscriptionOf(customerId, { price: "price_of_a_mug", status: "canceled" });
    isReceived(await billing.notify(billing.one, mug));
    assert.equal(await billing.tierOf(team), "starter");
  });

  it("not where the operator made the subscription for a team that has no customer yet", async () => {
    const team = await billing.deployment.team("free");
    isReceived(await billing.notify(billing.one, subscriptionOf(`cus_new_${team.id}`, { teamId: team.id })));
    assert.equal(await billing.tierOf(team), "pro");
  });
});

describe("a notification is refused", () => {
  const payload = JSON.stringify(eventObject("ping", {}, 1));

  it("with 401 when its signature is missing, of another secret, over another body, or stale", async () => {
    const stale = signedHeaders(payload, { atMs: Date.now() - 301_000 });
    for (const headers of [
      {},
      { "Stripe-Signature": "t=1,v1=00" },
      signedHeaders(payload, { secret: "whsec_of_somebody_else" }),
      signedHeaders(`${payload} `),
      stale,
    ])
      assertProblem(await post({ body: payload, headers }), 401, "invalid_signature");
    assertProblem(await post({ headers: signedHeaders(payload) }), 401, "invalid_signature");
  });

  it("with 400 when the signed body is no JSON object or no event", async () => {
    for (const body of [
      "[]",
      "1",
      "null",
      '"text"',
      "{}",
      '{"id":"evt_1"}',
      '{"id":1,"type":"a","created":1}',
    ])
      assertProblem(await post({ body, headers: signedHeaders(body) }), 400, "validation_failed");
    for (const body of ["{", "hello", "[".repeat(1_000)])
      assertProblem(await post({ body, headers: signedHeaders(body) }), 400, "malformed_json");
    const noSubscription = JSON.stringify(eventObject("customer.subscription.updated", { id: "sub_1" }, 1));
    const answer = await post({ body: noSubscription, headers: signedHeaders(noSubscription) });
    assertProblem(answer, 400, "validation_failed");
    assert.match(JSON.stringify(answer.body), /data\.object\.customer/);
  });

  it("by its signature alone: the content type and the query do not matter", async () => {
    const options = { body: payload, headers: { ...signedHeaders(payload), "Content-Type": "text/plain" } };
    isReceived(await billing.one.send("POST", "/webhooks/stripe?x=1", options));
  });

  it("with 413 when it is huge, and 503 where billing is not configured", async () => {
    const huge = "x".repeat(10_000_000);
    assertProblem(await post({ body: huge, headers: signedHeaders("x") }), 413, "body_too_large");
    const bare = await billing.deployment.startApi();
    const answer = await bare.send("POST", "/webhooks/stripe", {
      body: payload,
      headers: signedHeaders(payload),
    });
    assertProblem(answer, 503, "billing_unconfigured");
    await bare.stop();
  });

  it("never with a 500, whatever is signed", async () => {
    const { customerId } = await billing.customer();
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom("\0", "\ud800", customerId, -1, 1e300, "x".repeat(10_000), null, [], {}),
    );
    const object = fc.record({
      id: value,
      customer: fc.oneof(fc.constant(customerId), value),
      status: fc.oneof(fc.constant("active"), value),
      created: fc.oneof(fc.constant(1), value),
      items: fc.oneof(fc.constant({ data: [{ price: { id: "price_pro_month" } }] }), value),
      metadata: fc.oneof(fc.constant({}), fc.dictionary(fc.string(), fc.string()), value),
      mode: fc.constant("subscription"),
    });
    const type = fc.constantFrom(
      "customer.subscription.updated",
      "customer.subscription.deleted",
      "checkout.session.completed",
      "invoice.paid",
    );
    const event = fc.record({
      id: fc.oneof(fc.uuid(), value),
      type: fc.oneof(type, value),
      created: fc.oneof(fc.constant(5), value),
      data: fc.record({ object: fc.oneof(object, value) }),
    });
    await fc.assert(
      fc.asyncProperty(event, async (given) => {
        const body = JSON.stringify(given);
        const { status } = await post({ body, headers: signedHeaders(body) });
        assert.ok(status === 200 || status === 400, `answered ${status}`);
      }),
      { numRuns: 300 },
    );
  });
});
