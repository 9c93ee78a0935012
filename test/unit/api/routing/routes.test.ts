import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { createRouter } from "../../../../src/api/routing/router.ts";
import type { VerificationResultSchema } from "../../../../src/api/schemas/verification.ts";
import { MEMBER_ROLES } from "../../../../src/features/identity/actor.ts";
import type { VerificationResult } from "../../../../src/features/verify/answer/verification-result.ts";
import { routes } from "../../../support/route-table.ts";

/** Compiles only where each type can stand for the other. */
type Documented = v.InferOutput<typeof VerificationResultSchema>;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const sameType: Same<Documented, VerificationResult> = true;

describe("the route table", () => {
  it("describes the type that the service returns", () => assert.ok(sameType));

  it("states for every route who may call it", () => {
    assert.ok(routes.length >= 4);
    for (const route of routes) {
      const access: unknown = route.access;
      const known =
        access === "public" ||
        (typeof access === "object" &&
          access !== null &&
          "role" in access &&
          MEMBER_ROLES.includes(access.role as never));
      assert.ok(known, `${route.method} ${route.path} has no access`);
      const isForStrangers = route.path.startsWith("/v1/auth/") || route.path === "/v1/plans";
      if (route.path.startsWith("/v1/") && !isForStrangers) assert.notEqual(access, "public");
    }
  });

  it("names every operation once, and refuses two routes for one method and path", () => {
    assert.equal(new Set(routes.map((route) => route.operationId)).size, routes.length);
    assert.throws(() => createRouter([...routes, ...routes]), /two routes for GET/);
  });

  it("takes strict objects only", () => {
    for (const route of routes) {
      const schemas = [route.params, route.query, route.body].filter(
        (s) => s !== undefined && s !== "ignored",
      );
      for (const schema of schemas)
        assert.equal(schema.type, "strict_object", `${route.method} ${route.path}`);
    }
  });

  it("gives examples that its own schemas accept", () => {
    for (const { success, alternatives = [], path } of routes)
      for (const { schema, example, alsoAs = {} } of [success, ...alternatives])
        for (const shown of [example, ...Object.values(alsoAs)])
          if (schema !== null && shown !== undefined) assert.ok(v.is(schema, shown), path);
  });
});

describe("the rate of a route", () => {
  // An orchestrator asks as often as it likes, and a notification of Stripe's must not be lost.
  const FREE_OF_RATES = ["GET /healthz", "GET /readyz", "POST /webhooks/stripe"];
  const ofVerify = ["GET /v1/verify", "POST /v1/verify/bulk"];
  // It extends the upload's lifetime, and signs a URL for each part.
  const writing = ["GET /v1/uploads/{upload}/parts"];

  it("is that of verifications, of reads or of writes for a team, and of the address without a credential", () => {
    for (const route of routes) {
      const expected = () => {
        if (FREE_OF_RATES.includes(nameOf(route))) return "none";
        if (route.access === "public") return "client";
        if (ofVerify.includes(nameOf(route))) return "verify";
        return route.method === "GET" && !writing.includes(nameOf(route)) ? "read" : "write";
      };
      assert.equal(route.rate, expected(), nameOf(route));
    }
  });
});

const MUTATING = ["POST", "PUT", "PATCH", "DELETE"];

/** Mutations that a member may do, and why. Every other one needs an admin at least. */
const OF_MEMBERS: Record<string, string> = {
  "POST /v1/verify/bulk": "verifying is what members are for",
  "POST /v1/uploads": "a file to verify",
  "PUT /v1/uploads/{upload}": "a file to verify",
  "POST /v1/uploads/{upload}/complete": "a file to verify",
  "POST /v1/uploads/{upload}/preview": "shows how a file would be read; changes nothing",
  "DELETE /v1/uploads/{upload}": "whoever may bring a file may take it away",
  "POST /v1/bulk-jobs/{id}/cancel": "whoever may start a job may end it",
  "DELETE /v1/bulk-jobs/{id}": "whoever may start a job may end it",
  "POST /v1/feedback": "whoever sends to what was verified sees what comes back",
  "POST /v1/feedback/files": "whoever sends to what was verified sees what comes back",
  "DELETE /v1/team/members/{id}": "anybody may leave; the service lets only admins remove others",
};

/** Routes that the contract or API.md reserve for owners. */
const OF_OWNERS = [
  "DELETE /v1/team",
  "POST /v1/team/transfer",
  "POST /v1/admin/disposable",
  "GET /v1/admin/disposable",
  "GET /v1/admin/disposable/pending",
];

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
const roleOf = (name: string) => {
  const access = routes.find((route) => nameOf(route) === name)?.access;
  return access === undefined || access === "public" ? access : access.role;
};

describe("who may change something", () => {
  it("is an admin at least, but for what members do all day", () => {
    const mutations = routes.filter(
      ({ method, path }) =>
        MUTATING.includes(method) && path.startsWith("/v1/") && !path.startsWith("/v1/auth/"),
    );
    assert.ok(mutations.length >= 8);
    for (const route of mutations) {
      const role = route.access === "public" ? "public" : route.access.role;
      if (role === "admin" || role === "owner") continue;
      assert.ok(role === "member" && nameOf(route) in OF_MEMBERS, `${nameOf(route)} asks for no role`);
    }
  });

  it("is an owner where the contract says so, and nothing below /v1/admin is for others", () => {
    for (const name of OF_OWNERS) assert.equal(roleOf(name), "owner", name);
    for (const route of routes.filter(({ path }) => path.startsWith("/v1/admin/")))
      assert.equal(roleOf(nameOf(route)), "owner", nameOf(route));
  });

  it("may read what the team has as a member, but for a few", () => {
    const reads = routes.filter(({ method, access }) => method === "GET" && access !== "public");
    assert.ok(reads.length >= 15);
    const aboveMembers = reads.map(nameOf).filter((name) => roleOf(name) !== "member");
    assert.deepEqual(aboveMembers.sort(), [
      "GET /v1/admin/disposable",
      "GET /v1/admin/disposable/pending",
      "GET /v1/deployment",
      "GET /v1/team/invites",
    ]);
  });

  it("needs a user behind the key that makes keys", () => {
    const create = routes.find((route) => nameOf(route) === "POST /v1/keys");
    assert.equal(create?.needsUser, true);
  });

  it("outside /v1 is known by a signature, and reads otherwise", () => {
    for (const route of routes.filter(({ path }) => !path.startsWith("/v1/")))
      assert.ok(route.method === "GET" || route.signedBody !== undefined, nameOf(route));
  });
});

/** All objects in a schema, at any depth. */
function objectsIn(schema: unknown): { type: string }[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, entries, pipe, options, wrapped, item, value } = schema as Record<string, unknown>;
  const inner = [
    ...Object.values((entries as object | undefined) ?? {}),
    ...((pipe as unknown[] | undefined) ?? []).filter((part) => part !== schema),
    ...((options as unknown[] | undefined) ?? []),
    wrapped,
    item,
    value,
  ];
  const own = typeof type === "string" && type.includes("object") ? [{ type }] : [];
  return [...own, ...inner.flatMap(objectsIn)];
}

const bodied = routes.flatMap((route) => (route.body === undefined ? [] : [{ ...route, body: route.body }]));

describe("bodies", () => {
  it("have an example that their schema accepts", () => {
    assert.ok(bodied.length >= 5);
    for (const route of bodied) {
      assert.notEqual(route.bodyExample, undefined, nameOf(route));
      const result = v.safeParse(route.body, route.bodyExample);
      assert.ok(result.success, `${nameOf(route)} ${JSON.stringify(result.issues?.[0]?.message)}`);
    }
  });

  it("have no unknown field, at any depth", () => {
    for (const route of bodied) {
      assert.equal(v.is(route.body, { ...(route.bodyExample as object), no_such_field: 1 }), false);
      for (const { type } of objectsIn(route.body)) assert.equal(type, "strict_object", nameOf(route));
    }
  });

  it("are had by POST, PUT and PATCH only", () => {
    for (const route of bodied) assert.ok(["POST", "PUT", "PATCH"].includes(route.method), nameOf(route));
  });
});

/** Lists without pages: bounded in another way, and answered whole. */
const NO_PAGES: Record<string, string> = {
  "/v1/usage/history": "a day each, bounded by `days`",
  "/v1/plans": "a tier each",
  "/v1/uploads/{upload}/parts": "LIMITS.uploads.parts",
  "/v1/bulk-jobs/{id}/deferred": "LIMITS.bulk.deferredGroups",
  "/v1/bulk-jobs/{id}/providers": "LIMITS.bulk.providers",
};

describe("lists", () => {
  it("are pages", () => {
    const lists = routes.filter(({ method, success: { schema } }) => {
      const entries = (schema as { entries?: Record<string, { type?: string }> } | null)?.entries;
      return method === "GET" && entries?.data?.type === "array";
    });
    assert.ok(lists.length >= 3);
    for (const { query, success, path } of lists) {
      if (path in NO_PAGES) continue;
      const asked = query === undefined || query === "ignored" ? {} : (query as { entries?: object }).entries;
      assert.ok("limit" in (asked ?? {}) && "cursor" in (asked ?? {}), path);
      assert.ok("next_cursor" in ((success.schema as { entries?: object } | null)?.entries ?? {}), path);
    }
  });
});

/** POSTs that API.md lists; those whose issue is still to come are looked at once they are there. */
const IDEMPOTENT = [
  "POST /v1/verify/bulk",
  "POST /v1/uploads",
  "POST /v1/keys",
  "POST /v1/webhooks",
  "POST /v1/blocklist",
  "POST /v1/billing/subscribe",
];
const SECRET = /rcpt_(live|test|sess)_|whsec_/;

describe("idempotent routes", () => {
  it("are all that API.md lists, and POSTs with a body", () => {
    for (const route of routes) {
      if (IDEMPOTENT.includes(nameOf(route))) assert.equal(route.idempotent, true, nameOf(route));
      if (route.idempotent !== true) continue;
      assert.equal(route.method, "POST", nameOf(route));
      assert.ok(route.body !== undefined && route.access !== "public", nameOf(route));
    }
  });

  it("name what is shown once, and may answer null there", () => {
    for (const route of routes.filter(({ idempotent }) => idempotent === true)) {
      const { secretField, success } = route;
      const example = (success.example ?? {}) as Record<string, unknown>;
      const secrets = Object.keys(example).filter((name) => SECRET.test(JSON.stringify(example[name])));
      // The part of a secret that lists show is not secret.
      assert.deepEqual(
        secrets.filter((name) => name !== "prefix"),
        secretField === undefined ? [] : [secretField],
        nameOf(route),
      );
      if (secretField === undefined || success.schema === null) continue;
      assert.ok(v.is(success.schema, { ...example, [secretField]: null }), nameOf(route));
    }
  });
});
