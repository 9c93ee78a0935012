import assert from "node:assert/strict";
import { after, before } from "node:test";
import { createDeployment, type Response, type Team, type TestApi, type TestDeployment } from "./service.ts";
import { createClosing } from "./store.ts";
import { type MockEvent, PRICES, signedHeaders } from "./stripe-events.ts";
import { type StripeMock, startStripeMock } from "./stripe-mock.ts";
import { until } from "./until.ts";

export interface Problem {
  code: string;
  detail: string;
}

/** A deployment with two API processes that sells through a mock of Stripe. */
export interface BillingDeployment {
  readonly deployment: TestDeployment;
  readonly stripe: StripeMock;
  readonly one: TestApi;
  readonly two: TestApi;
  subscribe(api: TestApi, key: string, body?: unknown): Promise<Response<{ checkout_url: string } & Problem>>;
  /** Delivers an event as Stripe does. */
  notify(api: TestApi, event: MockEvent): Promise<Response<{ received: true } & Problem>>;
  /** A free team with a Stripe customer. */
  customer(): Promise<{ team: Team; customerId: string }>;
  /** The tier as the database has it. */
  tierOf(team: Team): Promise<string>;
  /** Resolves once a process grants the team the rights of `pro` and above, or no longer does. */
  treatedAsPro(api: TestApi, team: Team, yes: boolean): Promise<void>;
  /** Whether a process lets the team ask with `refresh`, as `pro` and above may. */
  isTreatedAsPro(api: TestApi, team: Team): Promise<boolean>;
}

async function isTreatedAsPro(api: TestApi, team: Team): Promise<boolean> {
  const { status } = await api.verify(team.testKey, "valid@example.com", "&refresh=true");
  assert.ok(status === 200 || status === 402, `answered ${status}`);
  return status === 200;
}

/** Starts it before the tests of the calling file and stops it at the end. */
export function useBilling(): BillingDeployment {
  const closing = createClosing();
  let started: { deployment: TestDeployment; stripe: StripeMock; one: TestApi; two: TestApi } | null = null;
  const parts = () => started ?? assert.fail("not started yet");

  before(async () => {
    const stripe = await startStripeMock();
    closing.after(() => stripe.close());
    const deployment = await createDeployment();
    closing.after(() => deployment.stop());
    const settings = { ...stripe.settings, ...PRICES };
    const [one, two] = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
    started = { deployment, stripe, one, two };
  });
  after(closing.close);

  return {
    get deployment() {
      return parts().deployment;
    },
    get stripe() {
      return parts().stripe;
    },
    get one() {
      return parts().one;
    },
    get two() {
      return parts().two;
    },
    subscribe: (api, key, body = { tier: "pro" }) => api.send("POST", "/v1/billing/subscribe", { key, body }),
    notify(api, event) {
      const body = JSON.stringify(event);
      return api.send("POST", "/webhooks/stripe", { body, headers: signedHeaders(body) });
    },
    async customer() {
      const { deployment, stripe } = parts();
      const team = await deployment.team("free");
      const customerId = `cus_of_${team.id}`;
      stripe.customers.set(customerId, { id: customerId, metadata: { team_id: team.id } });
      await deployment.sql`update teams set stripe_customer_id = ${customerId} where id = ${team.id}`;
      return { team, customerId };
    },
    async tierOf(team) {
      const [row] = await parts().deployment.sql<[{ tier: string }]>`
        select tier from teams where id = ${team.id}`;
      return row.tier;
    },
    async treatedAsPro(api, team, yes) {
      const what = `the team is ${yes ? "" : "not "}treated as pro`;
      await until(what, async () => (await isTreatedAsPro(api, team)) === yes);
    },
    isTreatedAsPro,
  };
}
