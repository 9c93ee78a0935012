import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type MockSubscription, subscriptionObject, WEBHOOK_SECRET } from "./stripe-events.ts";

export const SECRET_KEY = "sk_test_mock_0123456789";

export interface MockCheckout {
  id: string;
  object: "checkout.session";
  mode: "subscription";
  status: "open" | "complete" | "expired";
  payment_status: "unpaid" | "paid";
  url: string | null;
  customer: string;
  subscription: string | null;
  client_reference_id: string | null;
  created: number;
  metadata: Record<string, string>;
  success_url: string;
  cancel_url: string;
  /** Not shown by Stripe in this form: the price sold, and the metadata of the subscription that it creates. */
  price: string;
  subscriptionMetadata: Record<string, string>;
}

interface Trouble {
  /** Part of `METHOD path` that it applies to. */
  call: string;
  status: number;
  /** Body of the answer; sent as JSON unless it is a string. */
  body: unknown;
  times: number;
}

/** Stripe's API as far as billing calls it: a server on loopback with state, which misbehaves on request. */
export interface StripeMock {
  /** Value for STRIPE_API_BASE. */
  url: string;
  /** The settings of a deployment that uses it. */
  settings: Record<string, string>;
  customers: Map<string, { id: string; metadata: Record<string, string> }>;
  checkouts: Map<string, MockCheckout>;
  subscriptions: Map<string, MockSubscription>;
  /** `METHOD path` of each request, in order. */
  calls: string[];
  /** Idempotency keys, in order. */
  keys: string[];
  /** Fails the next calls of a kind. After a 5xx, repetitions with the same idempotency key fail too, as at Stripe. */
  fail(trouble: { call: string; status?: number; body?: unknown; times?: number }): void;
  /** Withholds every answer until `release`. */
  hold(): void;
  release(): void;
  openCheckouts(customer?: string): MockCheckout[];
  /** Acts as if the customer had paid: completes the session and makes its subscription. */
  pay(checkoutId: string, created?: number): MockSubscription;
  close(): Promise<void>;
}

/** `a[b][0]=c` as Stripe's client writes it. */
function readForm(body: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(body));
}

function metadataOf(form: Record<string, string>, prefix: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(form)) {
    const match = /^(\w*)\[?metadata\]?\[([^\]]+)\]$/.exec(name);
    if (match?.[1] === prefix && match[2] !== undefined) found[match[2]] = value;
  }
  return found;
}

class Refusal extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;
  constructor(status: number, body: Record<string, unknown>) {
    super(`refused with ${status}`);
    this.status = status;
    this.body = body;
  }
}

function missing(what: string, id: string, param: string): Refusal {
  const error = {
    type: "invalid_request_error",
    code: "resource_missing",
    message: `No such ${what}: '${id}'`,
    param,
  };
  return new Refusal(param === "customer" ? 400 : 404, { error });
}

/** The server's state, and the answer to each call. */
function createState() {
  const customers: StripeMock["customers"] = new Map();
  const checkouts: StripeMock["checkouts"] = new Map();
  const subscriptions: StripeMock["subscriptions"] = new Map();
  let made = 0;

  function knownCustomer(id: string | undefined): string {
    if (id === undefined || !customers.has(id)) throw missing("customer", id ?? "", "customer");
    return id;
  }

  function createCheckout(form: Record<string, string>): MockCheckout {
    const customer = knownCustomer(form.customer);
    const id = `cs_test_${++made}`;
    const checkout: MockCheckout = {
      id,
      object: "checkout.session",
      mode: "subscription",
      status: "open",
      payment_status: "unpaid",
      url: `https://checkout.stripe.test/${id}`,
      customer,
      subscription: null,
      client_reference_id: form.client_reference_id ?? null,
      created: 1_000 + made,
      metadata: metadataOf(form, ""),
      success_url: form.success_url ?? "",
      cancel_url: form.cancel_url ?? "",
      price: form["line_items[0][price]"] ?? "",
      subscriptionMetadata: metadataOf(form, "subscription_data"),
    };
    checkouts.set(id, checkout);
    return checkout;
  }

  function expire(id: string): MockCheckout {
    const checkout = checkouts.get(id);
    if (checkout === undefined) throw missing("session", id, "id");
    if (checkout.status !== "open")
      throw new Refusal(400, {
        error: { type: "invalid_request_error", message: "Only open sessions expire." },
      });
    return Object.assign(checkout, { status: "expired", url: null });
  }

  function cancel(id: string): MockSubscription {
    const subscription = subscriptions.get(id);
    if (subscription === undefined || subscription.status === "canceled")
      throw missing("subscription", id, "id");
    return Object.assign(subscription, { status: "canceled" });
  }

  function list(
    all: Iterable<{ customer: string; created: number; status: string }>,
    query: URLSearchParams,
  ) {
    const customer = knownCustomer(query.get("customer") ?? undefined);
    const status = query.get("status");
    const data = [...all]
      .filter(
        (one) => one.customer === customer && (status === "all" || status === null || one.status === status),
      )
      .sort((a, b) => b.created - a.created);
    return { object: "list", data, has_more: false };
  }

  function answer(call: string, form: Record<string, string>, query: URLSearchParams): unknown {
    const id = call.split("/")[4] ?? call.split("/")[3] ?? "";
    if (call === "POST /v1/customers") {
      const customer = { id: `cus_${++made}`, object: "customer", metadata: metadataOf(form, "") };
      customers.set(customer.id, customer);
      return customer;
    }
    if (call === "POST /v1/checkout/sessions") return createCheckout(form);
    if (call === "GET /v1/checkout/sessions") return list(checkouts.values(), query);
    if (/^POST \/v1\/checkout\/sessions\/\w+\/expire$/.test(call)) return expire(id);
    if (call === "GET /v1/subscriptions") return list(subscriptions.values(), query);
    if (call.startsWith("DELETE /v1/subscriptions/")) return cancel(id);
    if (call === "POST /v1/billing_portal/sessions")
      return {
        object: "billing_portal.session",
        url: `https://portal.stripe.test/${knownCustomer(form.customer)}`,
      };
    throw new Refusal(404, {
      error: { type: "invalid_request_error", message: `Unrecognized request: ${call}` },
    });
  }

  return { customers, checkouts, subscriptions, answer };
}

/** Starts the server; `close` ends it, also with requests in progress. */
export async function startStripeMock(): Promise<StripeMock> {
  const state = createState();
  const { customers, checkouts, subscriptions } = state;
  const calls: string[] = [];
  const keys: string[] = [];
  const troubles: Trouble[] = [];
  const replies = new Map<string, { request: string; status: number; body: unknown }>();
  let held: Promise<void> | null = null;
  let letGo: () => void = () => {};

  /** Stripe's rule: the same key gets the same answer, also Stripe's own failures; a different body is an error. */
  function replayed(key: string | undefined, request: string) {
    const before = key === undefined ? undefined : replies.get(key);
    if (before === undefined || before.request === request) return before;
    throw new Refusal(400, {
      error: { type: "idempotency_error", message: "Keys for idempotent requests…" },
    });
  }

  function troubleOf(call: string): Trouble | undefined {
    const trouble = troubles.find((one) => one.times > 0 && call.includes(one.call));
    if (trouble !== undefined) trouble.times -= 1;
    return trouble;
  }

  function send(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, { "Content-Type": "application/json", "Request-Id": "req_mock" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://mock");
    const call = `${request.method} ${url.pathname}`;
    const body = await text(request);
    calls.push(call);
    const key = request.headers["idempotency-key"];
    if (typeof key === "string") keys.push(key);
    if (held !== null) await held;
    const given = typeof key === "string" ? key : undefined;
    const reply = (status: number, answer: unknown) => {
      if (given !== undefined && (status === 200 || status >= 500))
        replies.set(given, { request: body, status, body: structuredClone(answer) });
      send(response, status, answer);
    };
    if (request.headers.authorization !== `Bearer ${SECRET_KEY}`)
      return send(response, 401, {
        error: { type: "invalid_request_error", message: "Invalid API Key provided" },
      });
    try {
      const before = replayed(given, body);
      if (before !== undefined) return send(response, before.status, before.body);
      const trouble = troubleOf(call);
      if (trouble !== undefined) return reply(trouble.status, trouble.body);
      reply(200, state.answer(call, readForm(body), url.searchParams));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send(response, error.status, error.body);
    }
  }

  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    settings: {
      STRIPE_SECRET_KEY: SECRET_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_API_BASE: url,
    },
    customers,
    checkouts,
    subscriptions,
    calls,
    keys,
    fail({
      call,
      status = 500,
      times = 1,
      body = { error: { type: "api_error", message: "secret internals" } },
    }) {
      troubles.push({ call, status, body, times });
    },
    hold() {
      held = new Promise((resolve) => {
        letGo = resolve;
      });
    },
    release() {
      held = null;
      letGo();
    },
    openCheckouts: (customer) =>
      [...checkouts.values()].filter(
        (one) => one.status === "open" && (customer === undefined || one.customer === customer),
      ),
    pay(checkoutId, created) {
      const checkout = checkouts.get(checkoutId);
      if (checkout === undefined) throw new Error(`no checkout ${checkoutId}`);
      const subscription = subscriptionObject({
        id: `sub_${checkoutId}`,
        customer: checkout.customer,
        price: checkout.price,
        created: created ?? checkout.created,
      });
      subscription.metadata = { ...checkout.subscriptionMetadata };
      subscriptions.set(subscription.id, subscription);
      Object.assign(checkout, {
        status: "complete",
        payment_status: "paid",
        url: null,
        subscription: subscription.id,
      });
      return subscription;
    },
    async close() {
      letGo();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
