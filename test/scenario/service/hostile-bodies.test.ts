import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { PORTAL_PATHS } from "../../../src/api/pages/portal-page.ts";
import type { Route } from "../../../src/api/routing/route.ts";
import { newId } from "../../../src/platform/ids.ts";
import { ContractProblem } from "../../support/contract.ts";
import { hostileBodies, pointedBodies } from "../../support/hostile-json.ts";
import fc from "../../support/properties.ts";
import { routes } from "../../support/route-table.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { PRICES, signedHeaders } from "../../support/stripe-events.ts";
import { startStripeMock } from "../../support/stripe-mock.ts";

/**
 * Whatever a body, a path or a query holds, no route has a fault: every answer is a success or the caller's mistake,
 * and the service goes on. All routes of the table, each with its own schema's example.
 */
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
const closing = createClosing();

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const stripe = await startStripeMock();
  closing.after(() => stripe.close());
  api = await deployment.startApi({ ...stripe.settings, ...PRICES });
});
after(closing.close);

const BODIES_PER_ROUTE = 60;
/** Number of bodies for routes where each accepted body costs a password's hash. */
const BODIES_OF_AUTH = 20;

/** Refusals from 500 up that are no fault: nothing was wrong here. */
const NO_FAULT = ["feature_unconfigured", "billing_unconfigured", "billing_provider_error"];

interface Sent {
  method: string;
  path: string;
  body?: Buffer;
  headers?: Record<string, string>;
  key?: string;
}

async function assertNoFault({
  method,
  path,
  body,
  headers = {},
  key = team.session,
}: Sent): Promise<number> {
  const response = await fetch(api.url + path, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  });
  const text = await response.text();
  if (response.status < 400) return response.status;
  const problem: unknown = JSON.parse(text);
  v.assert(ContractProblem, problem);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(problem.status, response.status);
  assert.ok(
    response.status < 500 || NO_FAULT.includes(problem.code),
    `${method} ${path}: ${response.status} ${text.slice(0, 300)}`,
  );
  return response.status;
}

/** Ids and names in the path, of the form that the route looks up. */
const IDS: Record<string, () => string> = {
  id: () => newId("wh"),
  delivery_id: () => newId("dlv"),
  domain: () => "hostile.example",
};
const fill = (path: string, value: (name: string) => string) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => value(name));

const bodied = routes.filter(({ body, signedBody }) => body !== undefined || signedBody !== undefined);

function headersFor(route: Route, body: Buffer): Record<string, string> {
  return route.signedBody === undefined ? {} : signedHeaders(body.toString("utf8"));
}

describe("hostile bodies", () => {
  for (const route of bodied)
    it(`find no fault in ${route.method} ${route.path}`, async () => {
      team = await deployment.team("enterprise");
      const path = fill(route.path, (name) => IDS[name]?.() ?? "x");
      const numRuns = route.path.startsWith("/v1/auth/") ? BODIES_OF_AUTH : BODIES_PER_ROUTE;
      const send = (body: Buffer) =>
        assertNoFault({ method: route.method, path, body, headers: headersFor(route, body) });
      for (const body of pointedBodies(route.bodyExample)) await send(body);
      await fc.assert(
        fc.asyncProperty(hostileBodies(route.bodyExample), async (body) => void (await send(body))),
        { numRuns, interruptAfterTimeLimit: 20_000 },
      );
      assert.equal((await api.get("/healthz")).status, 200);
      assert.equal((await api.verify(team.testKey, "valid@example.com")).status, 200);
    });
});

const HOSTILE_SEGMENTS = [
  "%00",
  "a%00b",
  "%ED%A0%80",
  "%FF",
  "%",
  "%2e%2e%2f",
  "__proto__",
  "constructor",
  "%E2%80%AE",
  "%F0%9F%98%80",
  "'%3B--",
  "a".repeat(5_000),
  "team_00000000000000000000000000",
  "xn--",
  "xn--zzzzzzzzzz",
  `${"a.".repeat(200)}com`,
  "-1",
  "null",
];

describe("hostile paths", () => {
  for (const route of routes.filter(({ path }) => path.includes("{")))
    it(`find no fault in ${route.method} ${route.path}`, async () => {
      team = await deployment.team("enterprise");
      const body =
        route.bodyExample === undefined ? undefined : Buffer.from(JSON.stringify(route.bodyExample));
      const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const hostile of names)
        for (const segment of HOSTILE_SEGMENTS) {
          const path = fill(route.path, (name) => (name === hostile ? segment : (IDS[name]?.() ?? "x")));
          const status = await assertNoFault({
            method: route.method,
            path,
            ...(body === undefined ? {} : { body }),
          });
          // The path of an uploaded file has its name, and any name is allowed. The portal's page is the same at each
          // of its addresses: its script reads the path.
          const isTaken = route.incoming === true && status === 201;
          const isPage = PORTAL_PATHS.includes(route.path) && status === 200;
          const isRefused = status >= 400 || isTaken || isPage;
          assert.ok(isRefused, `${route.method} ${path.slice(0, 100)}: ${status}`);
        }
    });
});

/** Names of a route's query parameters. */
function queryNames({ query }: Route): string[] {
  if (query === undefined || query === "ignored") return [];
  return Object.keys((query as { entries?: object }).entries ?? {});
}

describe("hostile queries", () => {
  const asked = routes.filter((route) => queryNames(route).length > 0);
  const cursorOf = (key: string) => Buffer.from(key).toString("base64url");
  const values = [
    ...HOSTILE_SEGMENTS.filter((segment) => segment !== "%"),
    "0",
    "1e3",
    "101",
    "99999999999999999999",
    "true",
    "",
    cursorOf("a\0b"),
    cursorOf("\ud800"),
    cursorOf("9".repeat(400)),
    cursorOf("'; drop table teams; --"),
    cursorOf("{}"),
  ];

  for (const route of asked)
    it(`find no fault in ${route.method} ${route.path}`, async () => {
      team = await deployment.team("enterprise");
      const path = fill(route.path, (name) => IDS[name]?.() ?? "x");
      for (const name of queryNames(route))
        for (const value of values)
          await assertNoFault({ method: route.method, path: `${path}?${name}=${value}`, key: team.testKey });
    });
});
