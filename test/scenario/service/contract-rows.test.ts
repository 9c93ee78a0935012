import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { hashSecret } from "../../../src/features/identity/api-key.ts";
import { ContractResult } from "../../support/contract.ts";
import {
  createDeployment,
  type Response,
  type Team,
  type TestApi,
  type TestDeployment,
} from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { eventObject, PRICES, signedHeaders } from "../../support/stripe-events.ts";
import { type StripeMock, startStripeMock } from "../../support/stripe-mock.ts";

/**
 * Every row of the interface specification with every status it lists, asked of the running service: one test for each.
 */

let deployment: TestDeployment;
let api: TestApi;
/** The same deployment without billing. */
let unbilled: TestApi;
let stripe: StripeMock;
let owner: Team;
let free: Team;
let admin: string;
let ownerless: string;
const closing = createClosing();

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  stripe = await startStripeMock();
  closing.after(() => stripe.close());
  api = await deployment.startApi({ ...stripe.settings, ...PRICES });
  unbilled = await deployment.startApi();
  owner = await deployment.team("enterprise");
  free = await deployment.team("free");
  admin = await keyWithRole("admin");
  ownerless = await keyWithRole("member");
  await deployment.sql`
    update api_keys set user_id = null where hash = ${Buffer.from(hashSecret(ownerless), "hex")}`;
});
after(closing.close);

async function keyWithRole(role: string): Promise<string> {
  const body = { label: `a ${role}`, env: "live", role };
  const made = await api.send<{ secret: string }>("POST", "/v1/keys", { key: owner.session, body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body.secret;
}

type Ask = () => Promise<Response<Record<string, never>>>;
type Body = Record<string, never>;
const send = (method: string, path: string, key?: string, body?: unknown): ReturnType<Ask> =>
  api.send<Body>(method, path, {
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body }),
  });

/** A team whose last unit of the day is gone. */
async function spentTeam(limits: { dailyQuota: number }): Promise<Team> {
  const team = await deployment.team("enterprise", limits);
  for (let i = 0; i < limits.dailyQuota; i++)
    assert.equal((await api.verify(team.liveKey, "exists@plain.test")).status, 200);
  return team;
}

/** Answers of a burst that is larger than the team's. */
async function burst(): ReturnType<Ask> {
  const team = await deployment.team("enterprise", { ratePerS: 1, rateBurst: 1 });
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => send("GET", "/v1/verify?email=exists@plain.test", team.liveKey)),
  );
  return answers.find(({ status }) => status === 429) ?? assert.fail("nobody was turned away");
}

async function made(path: string, body: unknown): Promise<Body> {
  const answer = await send("POST", path, owner.session, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

function notify(payload: string, headers = signedHeaders(payload)): ReturnType<Ask> {
  return api.send<Body>("POST", "/webhooks/stripe", { body: payload, headers });
}

const submission = (count: number) => ({
  domains: Array.from({ length: count }, (_, i) => `throwaway${i}.example`),
});
const inline = { emails: ["exists@plain.test", "missing@plain.test"] };
const page = { data: v.array(v.looseObject({})), next_cursor: v.nullable(v.string()) };
const Page = v.object(page);
const secretOf = (prefix: string) => v.looseObject({ secret: v.pipe(v.string(), v.startsWith(prefix)) });
const Id = v.looseObject({ id: v.string() });
const Job = v.looseObject({ id: v.string(), status: v.string(), rows: v.looseObject({ total: v.number() }) });
const Subscription = v.looseObject({ checkout_url: v.pipe(v.string(), v.url()) });

/** By name, because they exist only once the tests run. */
const CALLERS = {
  live: () => owner.liveKey,
  session: () => owner.session,
  free: () => free.liveKey,
  admin: () => admin,
  ownerless: () => ownerless,
  unknown: () => "rcpt_live_nobody",
};

/** The row's own method and path, with a query, a caller's credential and a body. */
interface RowRequest {
  query?: string;
  by?: keyof typeof CALLERS;
  body?: unknown;
}

const spent = async (dailyQuota: number) => (await spentTeam({ dailyQuota })).liveKey;
const newSession = async (tier: "free" | "pro") => (await deployment.team(tier)).session;
/** Makes an object at `path`, then asks of it. */
const ofMade = async (method: string, path: string, body: unknown, name = "id") =>
  send(method, `${path}/${(await made(path, body))[name]}`, owner.session);

type Row = [row: string, status: number, shape: v.GenericSchema | string | null, ask: RowRequest | Ask];

/** Row, status, what the answer has beside it, and how to get it. The code where the status is an error. */
const ROWS: Row[] = [
  ["GET /v1/verify", 200, ContractResult, { query: "?email=exists@plain.test", by: "live" }],
  ["GET /v1/verify", 400, "validation_failed", { by: "live" }],
  ["GET /v1/verify", 401, "unauthorized", { query: "?email=a@plain.test" }],
  ["GET /v1/verify", 402, "unavailable_in_tier", { query: "?email=a@plain.test&refresh=true", by: "free" }],
  [
    "GET /v1/verify",
    429,
    "quota_exceeded",
    async () => send("GET", "/v1/verify?email=exists@plain.test", await spent(1)),
  ],
  ["GET /v1/verify", 429, "rate_limited", burst],

  ["POST /v1/verify/bulk", 202, Job, { by: "live", body: inline }],
  ["POST /v1/verify/bulk", 400, "validation_failed", { by: "live", body: {} }],
  ["POST /v1/verify/bulk", 402, "unavailable_in_tier", { by: "free", body: inline }],
  [
    "POST /v1/verify/bulk",
    413,
    "bulk_too_large",
    async () => {
      const small = await deployment.team("enterprise", { dailyQuota: 1 });
      return send("POST", "/v1/verify/bulk", small.liveKey, inline);
    },
  ],
  [
    "POST /v1/verify/bulk",
    413,
    "inline_too_large",
    { by: "live", body: { emails: Array.from({ length: 10_001 }, (_, i) => `a${i}@plain.test`) } },
  ],
  [
    "POST /v1/verify/bulk",
    429,
    "quota_exceeded",
    async () => send("POST", "/v1/verify/bulk", await spent(2), inline),
  ],

  [
    "GET /v1/bulk-jobs/{id}",
    200,
    Job,
    async () => {
      const job = await send("POST", "/v1/verify/bulk", owner.liveKey, inline);
      return send("GET", `/v1/bulk-jobs/${job.body.id}`, owner.liveKey);
    },
  ],
  ["GET /v1/bulk-jobs/{id}", 404, "not_found", () => send("GET", "/v1/bulk-jobs/job_none", owner.liveKey)],

  ["GET /v1/usage", 200, v.looseObject({ used: v.number(), limit: v.number() }), { by: "live" }],
  ["GET /v1/usage", 401, "unauthorized", { by: "unknown" }],
  [
    "GET /v1/usage/history",
    200,
    v.looseObject({ data: v.pipe(v.array(v.looseObject({ date: v.string() })), v.length(7)) }),
    { query: "?days=7", by: "live" },
  ],

  ["GET /v1/keys", 200, Page, { by: "session" }],
  ["POST /v1/keys", 201, secretOf("rcpt_live_"), { by: "session", body: { label: "a key", env: "live" } }],
  ["POST /v1/keys", 401, "key_without_user", { by: "ownerless", body: { label: "a key", env: "live" } }],

  ["GET /v1/webhooks", 200, Page, { by: "session" }],
  [
    "POST /v1/webhooks",
    201,
    secretOf("whsec_"),
    { by: "session", body: { url: "https://hooks.example.com/in" } },
  ],
  [
    "DELETE /v1/webhooks/{id}",
    204,
    null,
    () => ofMade("DELETE", "/v1/webhooks", { url: "https://hooks.example.com/out" }),
  ],

  [
    "GET /v1/team",
    200,
    v.looseObject({ id: v.string(), name: v.string(), tier: v.string(), members: v.array(Id) }),
    { by: "session" },
  ],
  [
    "PATCH /v1/team",
    200,
    v.looseObject({ name: v.literal("renamed") }),
    { by: "session", body: { name: "renamed" } },
  ],
  ["DELETE /v1/team", 204, null, async () => send("DELETE", "/v1/team", await newSession("pro"))],
  ["DELETE /v1/team", 401, "unauthorized", {}],
  ["DELETE /v1/team", 403, "insufficient_role", { by: "admin" }],
  [
    "DELETE /v1/team/invites/{id}",
    204,
    null,
    () => ofMade("DELETE", "/v1/team/invites", { email: "invited@example.com" }),
  ],

  ["GET /v1/blocklist", 200, Page, { by: "session" }],
  [
    "POST /v1/blocklist",
    201,
    v.looseObject({ domain: v.literal("blocked.example") }),
    { by: "session", body: { domain: "blocked.example" } },
  ],
  [
    "POST /v1/blocklist",
    409,
    "already_blocked",
    async () => {
      await made("/v1/blocklist", { domain: "twice.example" });
      return send("POST", "/v1/blocklist", owner.session, { domain: "twice.example" });
    },
  ],
  [
    "DELETE /v1/blocklist/{domain}",
    204,
    null,
    () => ofMade("DELETE", "/v1/blocklist", { domain: "gone.example" }, "domain"),
  ],

  [
    "POST /v1/admin/disposable",
    201,
    v.looseObject({ accepted: v.literal(500) }),
    { by: "session", body: submission(500) },
  ],
  ["POST /v1/admin/disposable", 400, "validation_failed", { by: "session", body: submission(501) }],
  ["POST /v1/admin/disposable", 401, "unauthorized", {}],
  ["POST /v1/admin/disposable", 403, "insufficient_role", { by: "admin", body: submission(1) }],
  ["GET /v1/admin/disposable", 200, Page, { by: "session" }],
  ["GET /v1/admin/disposable", 401, "unauthorized", {}],
  ["GET /v1/admin/disposable", 403, "insufficient_role", { by: "admin" }],
  ["GET /v1/admin/disposable/pending", 200, v.object({ pending: v.number() }), { by: "session" }],
  ["GET /v1/admin/disposable/pending", 401, "unauthorized", {}],
  ["GET /v1/admin/disposable/pending", 403, "insufficient_role", { by: "admin" }],

  [
    "POST /v1/billing/subscribe",
    200,
    Subscription,
    async () => send("POST", "/v1/billing/subscribe", await newSession("free"), { tier: "pro" }),
  ],
  [
    "POST /v1/billing/subscribe",
    502,
    "billing_provider_error",
    async () => {
      const session = await newSession("free");
      stripe.fail({ call: "POST", status: 500, times: 10 });
      return send("POST", "/v1/billing/subscribe", session, { tier: "pro" });
    },
  ],
  [
    "POST /v1/billing/subscribe",
    503,
    "billing_unconfigured",
    () => unbilled.send<Body>("POST", "/v1/billing/subscribe", { key: owner.session, body: { tier: "pro" } }),
  ],

  [
    "POST /webhooks/stripe",
    200,
    v.looseObject({}),
    () => notify(JSON.stringify(eventObject("invoice.created", { id: "in_1" }, 1_000))),
  ],
  ["POST /webhooks/stripe", 400, "malformed_json", () => notify("no object")],
  ["POST /webhooks/stripe", 400, "validation_failed", () => notify("[]")],
  [
    "POST /webhooks/stripe",
    401,
    "invalid_signature",
    () => notify("{}", signedHeaders("{}", { secret: "whsec_of_somebody_else" })),
  ],
];

async function answerTo(row: string, ask: RowRequest | Ask): ReturnType<Ask> {
  if (typeof ask === "function") return ask();
  const [method = "", path = ""] = row.split(" ");
  return send(method, path + (ask.query ?? ""), ask.by && CALLERS[ask.by](), ask.body);
}

describe("the interface specification, row by row", () => {
  for (const [row, status, shape, ask] of ROWS) {
    it(`${row}: ${status}${typeof shape === "string" ? ` ${shape}` : ""}`, async () => {
      const answer = await answerTo(row, ask);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.ok(answer.headers.get("x-request-id"));
      if (shape === null) assert.equal(answer.body, null);
      else if (typeof shape !== "string") v.parse(shape, answer.body);
      else {
        assert.equal(answer.headers.get("content-type"), "application/problem+json");
        const { code, status: told } = answer.body as { code?: string; status?: number };
        assert.deepEqual([code, told], [shape, status]);
      }
    });
  }

  it("has all 22 rows here, each with its success", () => {
    const succeeded = new Set(ROWS.flatMap(([row, status]) => (status < 300 ? [row] : [])));
    assert.equal(succeeded.size, 22);
    assert.equal(new Set(ROWS.map(([row]) => row)).size, 22);
  });
});
