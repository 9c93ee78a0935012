import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ValiError } from "valibot";
import {
  readCheckout,
  readCustomer,
  readSubscription,
} from "../../../../src/features/billing/subscription.ts";
import fc from "../../../support/properties.ts";
import { MONTH_S, subscriptionObject } from "../../../support/stripe-events.ts";

const isForSale = (priceId: string) => priceId === "price_pro_month";
const object = subscriptionObject({ id: "sub_1", customer: "cus_1", teamId: "team_1", created: 5 });

describe("a subscription of Stripe", () => {
  it("is read by the little that is needed", () => {
    assert.deepEqual(readSubscription(object, isForSale), {
      id: "sub_1",
      customerId: "cus_1",
      teamId: "team_1",
      status: "active",
      priceId: "price_pro_month",
      sold: null,
      createdS: 5,
      periodEndS: 5 + MONTH_S,
      cancelAtPeriodEnd: false,
    });
  });

  it("is read with its customer expanded, and in the form of older versions", () => {
    const old = {
      ...object,
      customer: { id: "cus_1", email: "x" },
      current_period_end: 77,
      items: { data: [{ price: { id: "price_other" } }] },
      metadata: null,
    };
    const { customerId, periodEndS, teamId } = readSubscription(old, isForSale);
    assert.deepEqual([customerId, periodEndS, teamId], ["cus_1", 77, null]);
  });

  it("of several prices means the one that is for sale, else the first", () => {
    const priced = (...ids: string[]) =>
      readSubscription({ ...object, items: { data: ids.map((id) => ({ price: { id } })) } }, isForSale)
        .priceId;
    assert.equal(priced("price_a", "price_pro_month"), "price_pro_month");
    assert.equal(priced("price_a", "price_b"), "price_a");
    assert.equal(priced(), null);
  });

  it("says what it was sold as, in metadata that is ours and whole", () => {
    const soldBy = (metadata: object | null) => readSubscription({ ...object, metadata }, isForSale).sold;
    const ours = { team_id: "team_1", tier: "pro", interval: "year" };
    assert.deepEqual(soldBy({ ...ours, price_id: "price_1" }), { tier: "pro", interval: "year" });
    for (const wrong of [
      { ...ours, tier: "enterprise" },
      { ...ours, interval: "day" },
      { tier: "pro", interval: "year" },
      null,
    ])
      assert.equal(soldBy(wrong), null);
  });

  it("that is malformed is refused, whatever it is", () => {
    fc.assert(
      fc.property(fc.anything(), (anything) => {
        assert.throws(() => readSubscription(anything, isForSale), ValiError);
        assert.throws(() => readCheckout(anything), ValiError);
        assert.equal(readCustomer(anything), null);
      }),
    );
    for (const wrong of [
      { id: "sub_\0" },
      { status: "act ive" },
      { created: -1 },
      { created: 1.5 },
      { customer: "" },
    ])
      assert.throws(() => readSubscription({ ...object, ...wrong }, isForSale), ValiError);
  });
});

describe("a Checkout session of Stripe", () => {
  const session = { id: "cs_1", customer: "cus_1", created: 5, metadata: { price_id: "price_pro_month" } };

  it("says whether it was paid, and for what", () => {
    const paid = readCheckout({ ...session, payment_status: "paid", subscription: { id: "sub_1" } });
    assert.deepEqual([paid.paid, paid.priceId, paid.subscriptionId], [true, "price_pro_month", "sub_1"]);
    assert.equal(readCheckout({ ...session, payment_status: "no_payment_required" }).paid, true);
    assert.equal(readCheckout({ ...session, payment_status: "unpaid" }).paid, false);
    assert.equal(readCheckout({ ...session, customer: null }).customerId, null);
  });
});
