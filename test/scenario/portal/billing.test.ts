import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";
import { eventObject, type MockSubscription, PRICES, signedHeaders } from "../../support/stripe-events.ts";
import { type StripeMock, startStripeMock } from "../../support/stripe-mock.ts";
import { until } from "../../support/until.ts";

/** Plans in the portal: seen by everybody, bought by admins and owners on a page of Stripe's. */
let stripe: StripeMock | null = null;
before(async () => {
  stripe = await startStripeMock();
});
const site = usePortalSite({ settings: () => ({ ...ours().settings, ...PRICES }) });
const browser = useBrowser();
const visits = portalVisits(site, browser);
after(() => stripe?.close());

function ours(): StripeMock {
  return stripe ?? assert.fail("not started yet");
}

/** The billing page, in a browser where Stripe's pages are there. */
async function open(session: string): Promise<Page> {
  const page = await visits.open({ session, path: "/billing" });
  await page.context().route(/^https:\/\/\w+\.stripe\.test\//, (route) => route.fulfill({ body: "Stripe" }));
  await page.getByRole("heading", { name: "Plans" }).waitFor();
  return page;
}

async function notify(type: string, object: MockSubscription, created: number): Promise<void> {
  const body = JSON.stringify(eventObject(type, object, created));
  const answer = await site.api.send("POST", "/webhooks/stripe", { body, headers: signedHeaders(body) });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

describe("billing", () => {
  it("leads to where a plan is paid, then to where it is managed, and tells its state", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("free");
    const page = await open(session);
    await page.getByRole("columnheader", { name: "Free yours" }).waitFor();
    await page.getByRole("button", { name: "Pay yearly for Starter" }).click();
    await page.waitForURL(/^https:\/\/checkout\.stripe\.test\/cs_test_\d+$/);
    const checkoutId = page.url().split("/").at(-1) ?? "";
    const subscription = ours().pay(checkoutId);
    // The customer is back before Stripe's notification.
    await page.goto(ours().checkouts.get(checkoutId)?.success_url ?? "");
    await page.getByText(/^Your payment is being booked/).waitFor();
    await page.getByRole("columnheader", { name: "Free yours" }).waitFor();
    assert.equal(await page.getByRole("button", { name: /^Pay / }).count(), 0);
    await notify("customer.subscription.created", subscription, subscription.created);
    await page.getByRole("columnheader", { name: "Starter yours" }).waitFor();
    await page.getByText("Paid.", { exact: true }).waitFor();
    await page.getByText("Your payment is booked. Thank you.").waitFor();
    await page.waitForURL(/\/billing$/);
    // Any link can lead there: nothing was paid now.
    await page.goto(ours().checkouts.get(checkoutId)?.success_url ?? "");
    await page.getByText("Your plan is in force.").waitFor();
    await page.waitForURL(/\/billing$/);
    assert.equal(await page.getByText("Thank you").count(), 0);
    assert.equal(await page.getByRole("button", { name: /^Pay / }).count(), 0);
    Object.assign(subscription, { status: "past_due", cancel_at_period_end: true });
    await notify("customer.subscription.updated", subscription, subscription.created + 1);
    await until("it is past due", async () => {
      await page.reload();
      await page.getByRole("heading", { name: "Plans" }).waitFor();
      return (
        (await page
          .getByRole("alert")
          .getByText(/The last payment failed/)
          .count()) > 0
      );
    });
    await page.getByText(/it is cancelled, and not renewed/).waitFor();
    // It has ended meanwhile: what the page offers to manage must not lead to a checkout.
    Object.assign(subscription, { status: "canceled" });
    await page.getByRole("button", { name: "Manage the subscription" }).click();
    await page.waitForURL(/^https:\/\/portal\.stripe\.test\//);
  });

  it("leaves for secure pages alone, and says when Stripe fails", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("free");
    const page = await open(session);
    for (const url of ["javascript:document.title='taken'", "http://checkout.stripe.test/", "/docs"]) {
      await page.route("**/v1/billing/subscribe", (route) => route.fulfill({ json: { checkout_url: url } }));
      await page.getByRole("button", { name: "Pay monthly for Pro", exact: true }).click();
      await page
        .getByRole("alert")
        .getByText(/no secure page to pay at/)
        .waitFor();
      await page.unroute("**/v1/billing/subscribe");
    }
    ours().fail({ call: "POST /v1/customers", times: 5 });
    await page.getByRole("button", { name: "Pay monthly for Pro", exact: true }).click();
    await page
      .getByRole("alert")
      .getByText(/Try again/)
      .waitFor();
    assert.ok(page.url().endsWith("/billing"));
  });

  it("is for admins and owners, and others are told", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("free");
    const member = await open(await site.member(session, newPerson(), "member"));
    await member.getByText(/you are a member/).waitFor();
    assert.equal(await member.getByRole("button", { name: /^(Pay|Manage)/ }).count(), 0);
    const admin = await open(await site.member(session, newPerson(), "admin"));
    await admin.getByRole("button", { name: "Pay monthly for Pro+" }).waitFor();
  });

  it("has nothing to sell to the largest tier", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("enterprise");
    const page = await open(session);
    await page.getByText(/there is nothing to buy/).waitFor();
    assert.equal(await page.getByRole("button", { name: /^Pay/ }).count(), 0);
  });

  it("looks well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("free");
    await visits.lookInAll({ session, path: "/billing" }, "billing", async (page) => {
      await page.getByRole("button", { name: "Pay monthly for Pro+" }).waitFor();
    });
  });
});

describe("the plans", () => {
  it("are told to everybody, with how they can be paid here", async () => {
    const { status, body } = await site.api.send<{ data: { tier: string; intervals: string[] }[] }>(
      "GET",
      "/v1/plans",
    );
    assert.equal(status, 200);
    assert.deepEqual(
      body.data.map(({ tier, intervals }) => [tier, intervals]),
      [
        ["free", []],
        ["starter", ["month", "year"]],
        ["pro", ["month"]],
        ["pro_plus", ["month"]],
        ["enterprise", []],
      ],
    );
  });
});
