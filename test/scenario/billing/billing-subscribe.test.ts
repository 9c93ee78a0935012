import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { type Problem, useBilling } from "../../support/billing.ts";
import { ContractProblem } from "../../support/contract.ts";
import fc from "../../support/properties.ts";
import type { Response, TestApi } from "../../support/service.ts";
import { eventObject, PRICES, subscriptionObject } from "../../support/stripe-events.ts";

/** A team subscribes: one customer, one session to be paid, never a second subscription. */
const billing = useBilling();

function assertProblem(answer: Response<unknown>, status: number, code: string): void {
  v.assert(ContractProblem, answer.body);
  assert.deepEqual([answer.status, answer.body.code], [status, code]);
}

const customersOf = (teamId: string) =>
  [...billing.stripe.customers.values()].filter(({ metadata }) => metadata.team_id === teamId);
const checkoutsOf = (teamId: string) =>
  [...billing.stripe.checkouts.values()].filter((one) => one.client_reference_id === teamId);

describe("subscribing", () => {
  it("answers a Checkout page that names the team, its customer and the price", async () => {
    const team = await billing.deployment.team("free");
    const answer = await billing.subscribe(billing.one, team.session, { tier: "starter", interval: "year" });
    assert.equal(answer.status, 200);
    const [checkout] = checkoutsOf(team.id);
    assert.deepEqual(answer.body, { checkout_url: checkout?.url });
    assert.equal(checkout?.price, PRICES.STRIPE_PRICE_STARTER_YEAR);
    assert.deepEqual(customersOf(team.id), [{ ...customersOf(team.id)[0], id: checkout?.customer }]);
    assert.equal(checkout?.metadata.team_id, team.id);
    // The page that customers return to waits for the notification of a payment alone.
    const back = checkout?.cancel_url ?? "";
    assert.match(back, /\/billing$/);
    assert.equal(checkout?.success_url, `${back}?checkout=paid`);
  });

  it("asked again answers the page that is still open, from every process; for another plan, closes it first", async () => {
    const team = await billing.deployment.team("free");
    const first = await billing.subscribe(billing.one, team.session);
    const again = await billing.subscribe(billing.two, team.session);
    assert.deepEqual([again.status, again.body], [200, first.body]);
    const other = await billing.subscribe(billing.two, team.session, { tier: "pro_plus" });
    assert.notEqual(other.body.checkout_url, first.body.checkout_url);
    assert.deepEqual(
      checkoutsOf(team.id).map(({ status }) => status),
      ["expired", "open"],
    );
    assert.equal(customersOf(team.id).length, 1);
  });

  it("50 times at once on two processes makes one customer and one page", async () => {
    const team = await billing.deployment.team("free");
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        billing.subscribe(i % 2 === 0 ? billing.one : billing.two, team.session),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(new Set(answers.map(({ body }) => body.checkout_url)).size, 1);
    assert.deepEqual([customersOf(team.id).length, checkoutsOf(team.id).length], [1, 1]);
  });

  it("to different plans at once leaves one page open", async () => {
    const team = await billing.deployment.team("free");
    const tiers = ["starter", "pro", "pro_plus"];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        billing.subscribe(i % 2 === 0 ? billing.one : billing.two, team.session, { tier: tiers[i % 3] }),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const open = checkoutsOf(team.id).filter(({ status }) => status === "open");
    assert.deepEqual([open.length, customersOf(team.id).length], [1, 1]);
  });

  it("with a subscription leads to the billing portal, also while its event has not come", async () => {
    for (const status of ["active", "trialing", "past_due", "unpaid", "paused"]) {
      const { team, customerId } = await billing.customer();
      const id = `sub_${team.id}`;
      billing.stripe.subscriptions.set(id, subscriptionObject({ id, customer: customerId, status }));
      const answer = await billing.subscribe(billing.one, team.session);
      assert.equal(answer.body.checkout_url, `https://portal.stripe.test/${customerId}`, status);
      assert.equal(checkoutsOf(team.id).length, 0);
    }
  });

  it("just paid leads to the portal; ended or another product's subscriptions do not stand in the way", async () => {
    const paid = await billing.deployment.team("free");
    await billing.subscribe(billing.one, paid.session);
    billing.stripe.pay(checkoutsOf(paid.id)[0]?.id ?? "");
    const answer = await billing.subscribe(billing.one, paid.session, { tier: "pro_plus" });
    assert.match(answer.body.checkout_url, /^https:\/\/portal\./);

    const { team, customerId } = await billing.customer();
    for (const [id, status, price] of [
      ["ended", "canceled", PRICES.STRIPE_PRICE_PRO_MONTH],
      ["expired", "incomplete_expired", PRICES.STRIPE_PRICE_PRO_MONTH],
      ["mug", "active", "price_of_a_mug"],
      ["elsewhere", "active", PRICES.STRIPE_PRICE_PRO_MONTH],
    ] as const)
      billing.stripe.subscriptions.set(
        `${id}_${team.id}`,
        subscriptionObject({
          id: `${id}_${team.id}`,
          customer: customerId,
          status,
          price,
          ...(id === "elsewhere" && { teamId: "team_elsewhere" }),
        }),
      );
    const fresh = await billing.subscribe(billing.one, team.session);
    assert.match(fresh.body.checkout_url, /^https:\/\/checkout\./);
  });

  it("makes a new customer where Stripe has lost the old one", async () => {
    const { team, customerId } = await billing.customer();
    billing.stripe.customers.delete(customerId);
    const answer = await billing.subscribe(billing.one, team.session);
    assert.equal(answer.status, 200);
    const [made] = customersOf(team.id);
    assert.notEqual(made?.id, customerId);
    assert.equal(checkoutsOf(team.id)[0]?.customer, made?.id);
  });

  it("ends the team's subscription if Stripe has lost its customer", async () => {
    const { team, customerId } = await billing.customer();
    const object = subscriptionObject({ id: `sub_${team.id}`, customer: customerId });
    await billing.notify(billing.one, eventObject("customer.subscription.created", object, 100));
    assert.equal(await billing.tierOf(team), "pro");
    await billing.treatedAsPro(billing.two, team, true);
    billing.stripe.customers.delete(customerId);
    const first = await billing.subscribe(billing.one, team.session);
    assert.match(first.body.checkout_url, /^https:\/\/checkout\./);
    assert.equal(await billing.tierOf(team), "free");
    await billing.treatedAsPro(billing.two, team, false);
    const again = await billing.subscribe(billing.two, team.session);
    assert.deepEqual([again.status, again.body], [200, first.body]);
  });

  it("makes a new customer for one who was deleted, whom Stripe still lists", async () => {
    const { team, customerId } = await billing.customer();
    const error = { type: "invalid_request_error", code: "resource_missing", param: "customer" };
    billing.stripe.fail({ call: "POST /v1/checkout/sessions", status: 400, body: { error } });
    assert.equal((await billing.subscribe(billing.one, team.session)).status, 200);
    assert.notEqual(checkoutsOf(team.id)[0]?.customer, customerId);
  });
});

describe("the billing portal", () => {
  const manage = (api: TestApi, key: string) =>
    api.send<{ portal_url: string } & Problem>("POST", "/v1/billing/portal", { key });

  it("is where a customer is led, also after the subscription has ended, and without prices", async () => {
    const { team, customerId } = await billing.customer();
    const id = `sub_${team.id}`;
    const object = subscriptionObject({ id, customer: customerId, status: "canceled" });
    billing.stripe.subscriptions.set(id, object);
    const unpriced = await billing.deployment.startApi(billing.stripe.settings);
    for (const api of [billing.one, unpriced]) {
      const { status, body } = await manage(api, team.session);
      assert.deepEqual([status, body], [200, { portal_url: `https://portal.stripe.test/${customerId}` }]);
    }
    await unpriced.stop();
    assert.equal(checkoutsOf(team.id).length, 0);
  });

  it("is refused to teams without a customer at Stripe, to members, and where Stripe fails", async () => {
    const calls = billing.stripe.calls.length;
    const never = await billing.deployment.team("free");
    assertProblem(await manage(billing.one, never.session), 404, "not_found");
    assert.equal(billing.stripe.calls.length, calls);
    const { team, customerId } = await billing.customer();
    const { sql } = billing.deployment;
    await sql`update api_keys set role = 'member' where team_id = ${team.id} and env = 'live'`;
    assertProblem(await manage(billing.one, team.liveKey), 403, "insufficient_role");
    const call = "POST /v1/billing_portal/sessions";
    billing.stripe.fail({ call, status: 200, body: { url: "http://portal.evil/" } });
    assertProblem(await manage(billing.one, team.session), 502, "billing_provider_error");
    billing.stripe.customers.delete(customerId);
    assertProblem(await manage(billing.one, team.session), 404, "not_found");
    const bare = await billing.deployment.startApi();
    assertProblem(await manage(bare, team.session), 503, "billing_unconfigured");
    await bare.stop();
  });
});

describe("subscribing is refused", () => {
  const failing = (call: string, trouble: { status?: number; body?: unknown }) => async () => {
    const team = await billing.deployment.team("free");
    billing.stripe.fail({ call, ...trouble });
    const answer = await billing.subscribe(billing.one, team.session);
    assertProblem(answer, 502, "billing_provider_error");
    assert.doesNotMatch(JSON.stringify(answer.body), /secret internals|sk_test|cus_|stripe\.test/i);
    assert.equal((await billing.subscribe(billing.one, team.session)).status, 200);
    assert.deepEqual([customersOf(team.id).length, checkoutsOf(team.id).length], [1, 1]);
  };

  it("with 502 when Stripe fails, and works once it does not", failing("/v1/customers", {}));
  it("with 502 when the session cannot be made", failing("/v1/checkout/sessions", {}));
  it(
    "with 502 when the key is wrong",
    failing("/v1/customers", { status: 401, body: { error: { message: "Invalid: sk_test" } } }),
  );
  it("with 502 when Stripe speaks no JSON", failing("/v1/customers", { status: 200, body: "<html>" }));
  it(
    "with 502 when Stripe's answer is malformed",
    failing("/v1/checkout/sessions", { status: 200, body: {} }),
  );

  it("with 502 when the address of a page is not https, whoever asks for which page", async () => {
    const { team, customerId } = await billing.customer();
    const refused = async (call: string, body: unknown) => {
      billing.stripe.fail({ call, status: 200, body });
      const answer = await billing.subscribe(billing.one, team.session);
      assertProblem(answer, 502, "billing_provider_error");
      assert.doesNotMatch(JSON.stringify(answer.body), /evil/);
    };
    const urls = [
      "http://checkout.stripe.evil/pay",
      "javascript:alert(1)//evil",
      "data:text/html,evil",
      "//checkout.stripe.evil",
      "https://checkout.stripe.com@evil.example/",
      `https://evil.example/${"x".repeat(10_000)}`,
      "evil",
      "",
    ];
    for (const url of urls) await refused("POST /v1/checkout/sessions", { id: "cs_1", url });
    await billing.subscribe(billing.one, team.session);
    const [open] = checkoutsOf(team.id);
    assert.ok(open);
    await refused("GET /v1/checkout/sessions", { data: [{ ...open, url: "http://checkout.evil/" }] });
    const id = `sub_${team.id}`;
    billing.stripe.subscriptions.set(id, subscriptionObject({ id, customer: customerId }));
    for (const url of urls) await refused("POST /v1/billing_portal/sessions", { url });
    assert.equal((await billing.subscribe(billing.one, team.session)).status, 200);
  });

  it("not when a stand-in for Stripe on this machine has its page here too", async () => {
    const team = await billing.deployment.team("free");
    const url = `${billing.stripe.url}/pay`;
    billing.stripe.fail({ call: "POST /v1/checkout/sessions", status: 200, body: { id: "cs_1", url } });
    assert.deepEqual((await billing.subscribe(billing.one, team.session)).body, { checkout_url: url });
  });

  it("not for one failure that passes: it is repeated with the same key", async () => {
    const team = await billing.deployment.team("free");
    const before = billing.stripe.keys.length;
    billing.stripe.fail({ call: "/v1/customers", status: 409 });
    assert.equal((await billing.subscribe(billing.one, team.session)).status, 200);
    const keys = billing.stripe.keys.slice(before);
    assert.equal(keys.length, 3);
    assert.equal(keys[0], keys[1]);
    assert.notEqual(keys[1], keys[2]);
  });

  it("with 503 without billing, and without a price for the tier and interval", async () => {
    const team = await billing.deployment.team("free");
    const bare = await billing.deployment.startApi();
    assertProblem(await billing.subscribe(bare, team.session), 503, "billing_unconfigured");
    const unpriced = await billing.subscribe(billing.one, team.session, { tier: "pro", interval: "year" });
    assertProblem(unpriced, 503, "billing_unconfigured");
    assert.match(unpriced.body.detail, /pro by the year/);
    await bare.stop();
  });

  it("to an enterprise team, which has more than is for sale; what it pays for it may still look after", async () => {
    const bare = await billing.deployment.team("enterprise");
    assertProblem(await billing.subscribe(billing.one, bare.session), 409, "already_enterprise");
    assert.equal(customersOf(bare.id).length, 0);
    const { team, customerId } = await billing.customer();
    await billing.deployment.sql`update teams set tier = 'enterprise' where id = ${team.id}`;
    assertProblem(await billing.subscribe(billing.one, team.session), 409, "already_enterprise");
    const id = `sub_${team.id}`;
    billing.stripe.subscriptions.set(id, subscriptionObject({ id, customer: customerId }));
    const answer = await billing.subscribe(billing.one, team.session);
    assert.match(answer.body.checkout_url, /^https:\/\/portal\./);
  });

  it("to members, and without a credential", async () => {
    const team = await billing.deployment.team("free");
    const { sql } = billing.deployment;
    await sql`update api_keys set role = 'member' where team_id = ${team.id} and env = 'live'`;
    assertProblem(await billing.subscribe(billing.one, team.liveKey), 403, "insufficient_role");
    assertProblem(await billing.subscribe(billing.one, "rcpt_live_nobody"), 401, "unauthorized");
    assert.equal((await billing.one.get("/v1/billing", team.liveKey)).status, 200);
    assert.equal(customersOf(team.id).length, 0);
  });

  it("with 400 for any other body, without a call of Stripe", async () => {
    const team = await billing.deployment.team("free", { writesBurst: 1_000 });
    const send = (body: unknown) =>
      billing.one.send<Problem>("POST", "/v1/billing/subscribe", { key: team.session, body });
    const calls = billing.stripe.calls.length;
    for (const body of [
      {},
      { tier: "free" },
      { tier: ["pro"] },
      { tier: "__proto__" },
      { tier: "enterprise" },
      { tier: "pro", interval: "day" },
      [],
      ["pro"],
      1,
      true,
      "",
      null,
    ])
      assertProblem(await send(JSON.stringify(body)), 400, "validation_failed");
    assertProblem(await send({ tier: "pro", plan: "x" }), 400, "validation_failed");
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (body) => {
        assert.equal((await send(JSON.stringify(body))).status, 400);
      }),
      { numRuns: 50 },
    );
    assert.equal(billing.stripe.calls.length, calls);
  });
});
