import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { errorsOf } from "../../../src/api/openapi/errors.ts";
import { PORTAL_PATHS } from "../../../src/api/pages/portal-page.ts";
import type { Route } from "../../../src/api/routing/route.ts";
import { ContractProblem } from "../../support/contract.ts";
import { hostileBodies, pointedBodies } from "../../support/hostile-json.ts";
import { addMember } from "../../support/members.ts";
import fc from "../../support/properties.ts";
import { fillPath, operationOf, routes, unusedId } from "../../support/route-table.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { PRICES, signedHeaders } from "../../support/stripe-events.ts";
import { startStripeMock } from "../../support/stripe-mock.ts";
import { createTeamObjects, operationsOnObjects } from "../../support/team-objects.ts";

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
const VALUES_PER_PARAMETER = 12;

/** Refusals from 500 up that are no fault: nothing was wrong here. */
const NO_FAULT = ["feature_unconfigured", "billing_unconfigured", "billing_provider_error"];

interface Sent {
  /** Path of the request, and its query. */
  target: string;
  body?: Buffer;
  headers?: Record<string, string>;
  key?: string;
}

/** Refusals that input alone cannot cause: the sender is the owner of a team of the highest tier. */
const OF_THE_SENDER = [401, 402, 403, 429];
/** But passwords are checked and guesses counted, as invitations to one address are. */
const MAY_REFUSE_THE_SENDER = ["changePassword", "createInvite"];

/** Sends it, and holds the answer to what the route says that it may answer. */
async function assertNoFault(route: Route, { target, body, headers = {}, key = team.session }: Sent) {
  const { method } = route;
  const response = await fetch(api.url + target, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  });
  const text = await response.text();
  const { status } = response;
  const what = `${method} ${target.slice(0, 200)} ${body?.toString().slice(0, 300)}: ${status} ${text.slice(0, 300)}`;
  if (status < 400) {
    const successes = [route.success, ...(route.alternatives ?? [])];
    assert.ok(
      successes.some((success) => success.status === status),
      what,
    );
    return status;
  }
  const problem: unknown = JSON.parse(text);
  v.assert(ContractProblem, problem);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(problem.status, status);
  assert.ok(status < 500 || NO_FAULT.includes(problem.code), what);
  const isDescribed = (errorsOf(route) as string[]).includes(problem.code);
  assert.ok(isDescribed || route.internal === true, `not described: ${what}`);
  const isBySender = route.access === "public" || MAY_REFUSE_THE_SENDER.includes(route.operationId);
  assert.ok(isBySender || !OF_THE_SENDER.includes(status), what);
  if (problem.code === "validation_failed") assert.ok((problem.errors as unknown[]).length > 0, what);
  return status;
}

/** Objects of the team in the path, so that what a body says would be done. */
const objects = createTeamObjects(() => api);
const OPERATIONS = operationsOnObjects(objects);

async function pathOf({ method, path }: Route): Promise<string> {
  const created = await OPERATIONS[operationOf({ method, path })]?.by(team.session);
  const member = path.includes("/members/")
    ? (await addMember(deployment.sql, team.id, "member")).id
    : undefined;
  return fillPath(path, (name) => created?.[name] ?? member ?? unusedId(path, name));
}

const bodied = routes.filter(({ body, signedBody }) => body !== undefined || signedBody !== undefined);

function headersFor(route: Route, body: Buffer): Record<string, string> {
  return route.signedBody === undefined ? {} : signedHeaders(body.toString("utf8"));
}

describe("hostile bodies", () => {
  for (const route of bodied)
    it(`find no fault in ${route.method} ${route.path}`, async () => {
      team = await deployment.team("enterprise");
      const target = await pathOf(route);
      const numRuns = route.path.startsWith("/v1/auth/") ? BODIES_OF_AUTH : BODIES_PER_ROUTE;
      const send = (body: Buffer) => assertNoFault(route, { target, body, headers: headersFor(route, body) });
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
      const assertRefused = async (hostile: string | undefined, segment: string) => {
        const target = fillPath(route.path, (name) =>
          name === hostile ? segment : unusedId(route.path, name),
        );
        const status = await assertNoFault(route, { target, ...(body === undefined ? {} : { body }) });
        // The path of an uploaded file has its name, and any name is allowed. The portal's page is the same at each
        // of its addresses: its script reads the path.
        const isTaken = route.incoming !== undefined && status === 201;
        const isPage = PORTAL_PATHS.includes(route.path) && status === 200;
        assert.ok(status >= 400 || isTaken || isPage, `${route.method} ${target.slice(0, 100)}: ${status}`);
      };
      for (const hostile of names) {
        for (const segment of HOSTILE_SEGMENTS) await assertRefused(hostile, segment);
        // A client takes these for steps of the path.
        const segments = fc
          .string({ unit: "binary", maxLength: 40 })
          .filter((text) => !/^\.{0,2}$/.test(text));
        await fc.assert(
          fc.asyncProperty(segments, (text) => assertRefused(hostile, encodeURIComponent(text))),
          { numRuns: VALUES_PER_PARAMETER },
        );
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
      const path = await pathOf(route);
      for (const name of queryNames(route)) {
        const assertAnswered = async (value: string) => {
          const target = `${path}?${name}=${value}`;
          await assertNoFault(route, { target, key: team.liveKey });
          if (route.path === "/v1/verify") await assertNoFault(route, { target, key: team.testKey });
        };
        for (const value of values) await assertAnswered(value);
        await fc.assert(
          fc.asyncProperty(fc.string({ unit: "binary", maxLength: 40 }), async (text) => {
            await assertAnswered(encodeURIComponent(text));
            await assertAnswered(cursorOf(text));
          }),
          { numRuns: VALUES_PER_PARAMETER },
        );
      }
    });
});
