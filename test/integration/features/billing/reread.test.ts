import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadConfig } from "../../../../src/config/config.ts";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { createBillingEvents } from "../../../../src/features/billing/events.ts";
import { createBillingProvider } from "../../../../src/features/billing/provider.ts";
import { createBillingRereads } from "../../../../src/features/billing/reread.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { newTeam, silentLog, useDatabase } from "../../../support/store.ts";
import { eventObject, PRICES, subscriptionObject } from "../../../support/stripe-events.ts";
import { type MockCheckout, startStripeMock } from "../../../support/stripe-mock.ts";
import { until } from "../../../support/until.ts";

/** If the order of events is ambiguous, the state is read from Stripe, by any number of relays at once. */
const lines: string[] = [];
let timesPaidTwice = 0;

const { sql, closing } = await useDatabase();
const stripe = await startStripeMock();
closing.after(() => stripe.close());
const { billing } = loadConfig({
  DATABASE_URL: "postgres://unused",
  REDIS_URL: "redis://unused",
  ...stripe.settings,
  ...PRICES,
});
assert.ok(billing);
const bus = { announce: async () => undefined };
const publisher = createChangePublisher({ sql, bus, log: silentLog, invalidate: () => undefined });
const plans = billing.prices;
const provider = createBillingProvider({ config: billing, log: silentLog });
const clock = createFakeClock();
const log = createLog("warn", {}, { write: (line) => void lines.push(line) });
const onPaidTwice = () => {
  timesPaidTwice += 1;
};
const events = createBillingEvents({ publisher, plans, clock, log, onPaidTwice });
const rereads = createBillingRereads({ sql, publisher, provider, plans, clock, log, onPaidTwice });

const workOff = () => rereads.processDue(() => false);

async function newCustomer() {
  const { teamId } = await newTeam(sql);
  const customer = `cus_of_${teamId}`;
  stripe.customers.set(customer, { id: customer, metadata: { team_id: teamId } });
  await sql`update teams set stripe_customer_id = ${customer} where id = ${teamId}`;
  return { teamId, customer };
}

interface SubscriptionParts {
  customer: string;
  teamId: string;
  /** Without metadata, as one made by hand. */
  unnamed?: boolean;
  name?: string;
  status?: string;
  price?: string;
  created?: number;
}

const objectOf = ({ name = "a", unnamed = false, teamId, ...rest }: SubscriptionParts) =>
  subscriptionObject({ id: `sub_${name}_${teamId}`, ...rest, ...(unnamed ? {} : { teamId }) });

/** At Stripe. */
function exists(parts: SubscriptionParts): string {
  const object = objectOf(parts);
  stripe.subscriptions.set(object.id, object);
  return object.id;
}

function openCheckout(customer: string, teamId: string): MockCheckout {
  const checkout: MockCheckout = {
    id: `cs_of_${teamId}`,
    object: "checkout.session",
    mode: "subscription",
    status: "open",
    payment_status: "unpaid",
    url: "https://checkout.stripe.test/",
    customer,
    subscription: null,
    client_reference_id: teamId,
    created: 1,
    metadata: {},
    success_url: "https://rcpt.example/billing?checkout=paid",
    cancel_url: "https://rcpt.example/billing",
    price: PRICES.STRIPE_PRICE_PRO_MONTH,
    subscriptionMetadata: {},
  };
  stripe.checkouts.set(checkout.id, checkout);
  return checkout;
}

/** In an event. */
const receiveUpdate = (parts: SubscriptionParts, atS: number) =>
  events.receive(eventObject("customer.subscription.updated", objectOf(parts), atS));

async function teamOf(teamId: string) {
  const [row] = await sql<[{ tier: string; subscription: string | null }]>`
    select tier, stripe_subscription_id as subscription from teams where id = ${teamId}`;
  return row;
}

async function dueOf(customer: string) {
  const [row] = await sql<{ attempts: number; waits: boolean }[]>`
    select attempts, due_at > now() as waits from billing_rereads where customer_id = ${customer}`;
  return row ?? null;
}

const askFor = (customer: string) => sql`
  insert into billing_rereads (customer_id) values (${customer})
  on conflict (customer_id) do update set due_at = now()`;

const callsOf = (call: string) => stripe.calls.filter((one) => one === call).length;

describe("reading subscriptions from Stripe", () => {
  it("settles what two events of one second left open", async () => {
    const team = await newCustomer();
    exists({ ...team, price: PRICES.STRIPE_PRICE_PRO_PLUS_MONTH });
    await receiveUpdate({ ...team, status: "canceled" }, 100);
    await receiveUpdate({ ...team, price: PRICES.STRIPE_PRICE_PRO_PLUS_MONTH }, 100);
    assert.equal((await teamOf(team.teamId)).tier, "free");
    await workOff();
    assert.equal((await teamOf(team.teamId)).tier, "pro_plus");
    assert.equal(await dueOf(team.customer), null);
  });

  it("does so once for any number of relays at once", async () => {
    const team = await newCustomer();
    exists(team);
    await askFor(team.customer);
    const before = callsOf("GET /v1/subscriptions");
    await Promise.all([workOff(), workOff(), workOff()]);
    assert.equal(callsOf("GET /v1/subscriptions"), before + 1);
    assert.equal((await teamOf(team.teamId)).tier, "pro");
  });

  it("cancels neither of two that give a tier: the better one counts, and the operator is notified", async () => {
    const team = await newCustomer();
    const first = exists({ ...team, created: 10 });
    const later = { ...team, name: "b", created: 20, price: PRICES.STRIPE_PRICE_PRO_PLUS_MONTH };
    const second = exists(later);
    await receiveUpdate(later, 100);
    assert.deepEqual(await teamOf(team.teamId), { tier: "pro_plus", subscription: second });
    const before = timesPaidTwice;
    await receiveUpdate({ ...team, created: 10 }, 100);
    assert.equal(timesPaidTwice, before + 1);
    const said = JSON.parse(lines.at(-1) ?? "{}");
    assert.match(said.msg, /pays for more than one subscription/);
    assert.deepEqual([said.team, said.subscription, said.beside], [team.teamId, second, [first]]);
    await askFor(team.customer);
    await workOff();
    assert.deepEqual(await teamOf(team.teamId), { tier: "pro_plus", subscription: second });
    for (const id of [first, second]) assert.equal(stripe.subscriptions.get(id)?.status, "active");
    await receiveUpdate({ ...later, status: "canceled" }, 200);
    assert.deepEqual(await teamOf(team.teamId), { tier: "pro", subscription: first });
  });

  it("cancels nothing, in whatever state, beside one that counts", async () => {
    const team = await newCustomer();
    exists({ ...team, created: 10 });
    const states = ["active", "past_due", "unpaid", "trialing", "incomplete", "paused"] as const;
    const ids = states.map((status, i) => exists({ ...team, name: status, status, created: 20 + i }));
    await askFor(team.customer);
    await workOff();
    assert.deepEqual(
      ids.map((id) => stripe.subscriptions.get(id)?.status),
      states,
    );
    assert.ok(!stripe.calls.some((call) => call.startsWith("DELETE") && call.endsWith(team.teamId)));
  });

  it("believes no event from the future, and asks Stripe instead", async () => {
    const team = await newCustomer();
    const nowS = Math.floor(clock.now() / 1000);
    exists(team);
    await receiveUpdate({ ...team, status: "canceled" }, nowS + 86_400);
    assert.deepEqual(await teamOf(team.teamId), { tier: "free", subscription: null });
    await workOff();
    assert.equal((await teamOf(team.teamId)).tier, "pro");
    await receiveUpdate({ ...team, status: "unpaid" }, nowS);
    assert.equal((await teamOf(team.teamId)).tier, "free");
  });

  it("leaves the customer's other products and other teams' subscriptions alone", async () => {
    const team = await newCustomer();
    exists({ ...team, created: 10 });
    const mug = `sub_mug_${team.teamId}`;
    stripe.subscriptions.set(
      mug,
      subscriptionObject({ id: mug, customer: team.customer, price: "price_of_a_mug", created: 5 }),
    );
    const foreign = exists({ ...team, teamId: "team_elsewhere", created: 6 });
    await askFor(team.customer);
    await workOff();
    for (const id of [mug, foreign]) assert.equal(stripe.subscriptions.get(id)?.status, "active");
    assert.equal((await teamOf(team.teamId)).subscription, `sub_a_${team.teamId}`);
  });

  it("follows what the tier follows when its price changes to one that is not for sale", async () => {
    const team = { ...(await newCustomer()), unnamed: true };
    await receiveUpdate(team, 100);
    exists({ ...team, price: "price_retired", status: "unpaid" });
    await askFor(team.customer);
    await workOff();
    assert.equal((await teamOf(team.teamId)).tier, "free");
  });

  it("is tried again, later each time, while Stripe fails", async () => {
    const team = await newCustomer();
    exists(team);
    await askFor(team.customer);
    stripe.fail({ call: "GET /v1/subscriptions", times: 2 });
    await workOff();
    assert.deepEqual(await dueOf(team.customer), { attempts: 1, waits: true });
    await workOff();
    assert.deepEqual(await dueOf(team.customer), { attempts: 1, waits: true });
    await askFor(team.customer);
    await workOff();
    assert.equal(await dueOf(team.customer), null);
    assert.equal((await teamOf(team.teamId)).tier, "pro");
  });

  it("is thrown away when an event came meanwhile, and done again", async () => {
    const team = await newCustomer();
    exists({ ...team, status: "unpaid" });
    await receiveUpdate(team, 100);
    await askFor(team.customer);
    stripe.hold();
    const before = stripe.calls.length;
    const working = workOff();
    await until("Stripe is asked", () => stripe.calls.length > before);
    await receiveUpdate({ ...team, price: PRICES.STRIPE_PRICE_PRO_PLUS_MONTH }, 101);
    exists({ ...team, price: PRICES.STRIPE_PRICE_PRO_PLUS_MONTH });
    const listed = callsOf("GET /v1/subscriptions");
    stripe.release();
    await working;
    await workOff();
    assert.equal((await teamOf(team.teamId)).tier, "pro_plus");
    assert.equal(callsOf("GET /v1/subscriptions"), listed + 1);
    assert.equal(await dueOf(team.customer), null);
  });

  it("follows a payment that only the invoice's event reported", async () => {
    const team = await newCustomer();
    exists(team);
    await events.receive(eventObject("invoice.paid", { id: "in_1", customer: team.customer }, 100));
    await workOff();
    assert.equal((await teamOf(team.teamId)).tier, "pro");
  });

  it("drops a customer unknown to Stripe, without touching the tier", async () => {
    const team = await newCustomer();
    await receiveUpdate(team, 100);
    stripe.customers.delete(team.customer);
    await askFor(team.customer);
    await workOff();
    assert.equal(await dueOf(team.customer), null);
    assert.equal((await teamOf(team.teamId)).tier, "pro");
  });
});

describe("a deleted team's", () => {
  it("subscription is cancelled, and its open checkout closed", async () => {
    const team = await newCustomer();
    const id = exists(team);
    await receiveUpdate(team, 100);
    const checkouts = [team.teamId, "team_elsewhere"].map((named) => openCheckout(team.customer, named));
    await sql`delete from teams where id = ${team.teamId}`;
    stripe.fail({ call: `DELETE /v1/subscriptions/${id}`, times: 2 });
    await workOff();
    assert.equal(stripe.subscriptions.get(id)?.status, "active");
    await askFor(team.customer);
    await workOff();
    assert.equal(stripe.subscriptions.get(id)?.status, "canceled");
    assert.deepEqual(
      checkouts.map(({ status }) => status),
      ["expired", "open"],
    );
    assert.equal(await dueOf(team.customer), null);
  });

  it("subscription is cancelled also when nothing shows any more that it is one of ours", async () => {
    const team = { ...(await newCustomer()), unnamed: true };
    await receiveUpdate(team, 100);
    const id = exists({ ...team, price: "price_retired" });
    const mug = exists({ ...team, name: "mug", price: "price_of_a_mug" });
    await sql`delete from teams where id = ${team.teamId}`;
    await workOff();
    assert.equal(stripe.subscriptions.get(id)?.status, "canceled");
    assert.equal(stripe.subscriptions.get(mug)?.status, "active");
  });

  it("customer whom Stripe has lost is done with", async () => {
    const team = await newCustomer();
    stripe.customers.delete(team.customer);
    await sql`delete from teams where id = ${team.teamId}`;
    await workOff();
    assert.equal(await dueOf(team.customer), null);
  });

  it("subscription that begins after its end is cancelled too, when its event comes", async () => {
    const team = await newCustomer();
    await sql`delete from teams where id = ${team.teamId}`;
    await workOff();
    const id = exists(team);
    const other = exists({ ...team, teamId: "team_elsewhere" });
    await receiveUpdate(team, 100);
    await workOff();
    assert.equal(stripe.subscriptions.get(id)?.status, "canceled");
    assert.equal(stripe.subscriptions.get(other)?.status, "active");
  });
});
