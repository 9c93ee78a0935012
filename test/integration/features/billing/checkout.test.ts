import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { loadConfig } from "../../../../src/config/config.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { takeClaim } from "../../../../src/features/billing/billing-claims.ts";
import { type Checkouts, createCheckouts } from "../../../../src/features/billing/checkout.ts";
import { createBillingProvider } from "../../../../src/features/billing/provider.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { createPostgres, type Database } from "../../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";
import { PRICES } from "../../../support/stripe-events.ts";
import { startStripeMock } from "../../../support/stripe-mock.ts";
import { until } from "../../../support/until.ts";

/** Only one request at a time makes a checkout, and every caller gets an answer, however slow Stripe is. */
const lines: string[] = [];

const offer = { tier: "pro", interval: "month", priceId: PRICES.STRIPE_PRICE_PRO_MONTH } as const;

/** As another process would have it; `database` is for one whose end matters. */
function newProcess(database: Database = sql): Checkouts {
  const config = loadConfig({
    DATABASE_URL: "postgres://unused",
    REDIS_URL: "redis://unused",
    ...stripe.settings,
    ...PRICES,
  }).billing;
  assert.ok(config);
  const log = createLog("debug", {}, { write: (line) => void lines.push(line) });
  const bus = { announce: async () => undefined };
  const publisher = createChangePublisher({ sql: database, bus, log, invalidate: () => undefined });
  const provider = createBillingProvider({ config, log });
  const onPaidTwice = () => undefined;
  return createCheckouts({
    sql: database,
    publisher,
    provider,
    plans: config.prices,
    clock,
    log,
    onPaidTwice,
  });
}

const { sql, url: databaseUrl, closing } = await useDatabase();
const stripe = await startStripeMock();
closing.after(() => stripe.close());
const clock = createFakeClock();

const failsWith = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;
const isClaimed = async (teamId: string) =>
  (await sql`select from billing_claims where team_id = ${teamId}`).length === 1;

describe("a checkout", () => {
  it("that takes Stripe too long is answered in time; the next request finds its outcome", async () => {
    const { teamId } = await newTeam(sql);
    const checkouts = newProcess();
    stripe.hold();
    const calls = stripe.calls.length;
    const late = checkouts.open(teamId, offer);
    const refused = assert.rejects(late, failsWith("billing_provider_error"));
    await until("Stripe is asked", () => stripe.calls.length > calls);
    await clock.advanceAsync(LIMITS.billing.answerMs);
    await refused;
    stripe.release();
    await until("the first has let go", async () => !(await isClaimed(teamId)));
    const url = await checkouts.open(teamId, offer);
    assert.equal(await newProcess().open(teamId, offer), url);
    assert.equal(stripe.openCheckouts().filter((one) => one.client_reference_id === teamId).length, 1);
    assert.equal(stripe.calls.slice(calls).filter((one) => one === "POST /v1/customers").length, 1);
  });

  it("begins no call after its deadline, and releases its lock", async () => {
    const { teamId } = await newTeam(sql);
    stripe.hold();
    const calls = stripe.calls.length;
    const refused = assert.rejects(newProcess().open(teamId, offer), failsWith("billing_provider_error"));
    await until("Stripe is asked", () => stripe.calls.length > calls);
    await clock.advanceAsync(LIMITS.billing.answerMs + 1);
    await refused;
    stripe.release();
    await until("it has let go", async () => !(await isClaimed(teamId)));
    assert.deepEqual(stripe.calls.slice(calls), ["POST /v1/customers"]);
  });

  it("waits for another process's, no longer than it may take, and takes over from a dead one", async () => {
    const { teamId } = await newTeam(sql);
    await takeClaim(sql, teamId, randomUUID());
    const calls = stripe.calls.length;
    const database = createPostgres({
      url: databaseUrl,
      maxConnections: 1,
      applicationName: "rcpt-test-waiting",
    });
    try {
      const refused = assert.rejects(
        newProcess(database).open(teamId, offer),
        failsWith("billing_provider_error"),
      );
      await clock.advanceAsync(LIMITS.billing.answerMs + 1);
      await refused;
      assert.equal(stripe.calls.length, calls);
    } finally {
      // It may be asking for the claim still, and must not get it below: then the other waits by a clock that stands.
      await database.end();
    }
    await sql`update billing_claims set leased_until = now() - interval '1 ms' where team_id = ${teamId}`;
    assert.match(await newProcess().open(teamId, offer), /^https:\/\/checkout\./);
    assert.equal(await isClaimed(teamId), false);
  });

  it("is not made for a deleted team, nor for one that is deleted meanwhile", async () => {
    await assert.rejects(newProcess().open("team_gone", offer), failsWith("unauthorized"));
    const { teamId } = await newTeam(sql);
    stripe.hold();
    const calls = stripe.calls.length;
    const refused = assert.rejects(newProcess().open(teamId, offer), failsWith("unauthorized"));
    await until("Stripe is asked", () => stripe.calls.length > calls);
    await sql`delete from teams where id = ${teamId}`;
    stripe.release();
    await refused;
    assert.equal(stripe.openCheckouts().filter((one) => one.client_reference_id === teamId).length, 0);
  });

  it("that fails says why in the log, without keys, and without what Stripe wrote", async () => {
    const { teamId } = await newTeam(sql);
    lines.length = 0;
    const error = { type: "invalid_request_error", message: "Invalid API Key provided: sk_test_mock" };
    stripe.fail({ call: "POST /v1/customers", status: 401, body: { error } });
    await assert.rejects(newProcess().open(teamId, offer), failsWith("billing_provider_error"));
    const [line] = lines.map((text) => JSON.parse(text) as Record<string, unknown>);
    assert.deepEqual(
      [line?.call, line?.kind, line?.status, line?.stripe_request],
      ["create customer", "StripeAuthenticationError", 401, "req_mock"],
    );
    assert.doesNotMatch(lines.join(), /sk_test|Invalid API Key/);
  });
});
