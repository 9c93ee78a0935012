import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { ROWS } from "../../../src/check/verdict/table.ts";
import { ERRORS } from "../../../src/core/errors.ts";
import { createOpenApiDocument, errorsOf } from "../../../src/http/openapi.ts";
import { createRouter } from "../../../src/http/router.ts";
import { createRoutes } from "../../../src/http/routes.ts";
import type { VerificationResultSchema } from "../../../src/http/schemas.ts";
import { ROLES } from "../../../src/services/actor.ts";
import type { VerificationResult } from "../../../src/services/verification-result.ts";

const unused = () => {
  throw new Error("no handler runs here");
};
const routes = createRoutes({ verify: unused, readiness: unused, publicUrl: "https://api.example.com" });

/** Compiles only where each type can stand for the other. */
type Documented = v.InferOutput<typeof VerificationResultSchema>;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const sameType: Same<Documented, VerificationResult> = true;

describe("the route table", () => {
  it("describes the type that the service returns", () => assert.ok(sameType));

  it("says of every route who may call it", () => {
    assert.ok(routes.length >= 4);
    for (const route of routes) {
      const access: unknown = route.access;
      const known =
        access === "public" ||
        (typeof access === "object" &&
          access !== null &&
          "role" in access &&
          ROLES.includes(access.role as never));
      assert.ok(known, `${route.method} ${route.path} has no access`);
      if (route.path.startsWith("/v1/")) assert.notEqual(access, "public");
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
      for (const { schema, example } of [success, ...alternatives])
        if (schema !== null && example !== undefined) assert.ok(v.is(schema, example), path);
  });
});

interface Operation {
  operationId: string;
  security: unknown[];
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: JsonSchema }[];
  responses: Record<string, { description: string; headers: object; content: Record<string, Content> }>;
}
interface Content {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: { code: string; status: number } }>;
}
interface JsonSchema {
  type?: string;
  enum?: string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

function problemExample(operation: Operation | undefined, status: number, code: string) {
  const content = operation?.responses[status]?.content["application/problem+json"];
  const problem = content?.examples?.[code]?.value;
  return { code: problem?.code, status: problem?.status };
}

describe("the OpenAPI document", () => {
  const document = createOpenApiDocument(routes, "https://api.example.com");
  const paths = document.paths as Record<string, Record<string, Operation>>;
  const verify = paths["/v1/verify"]?.get;

  it("is 3.1, names the server, and survives JSON unchanged", () => {
    assert.equal(document.openapi, "3.1.0");
    assert.deepEqual(document.servers, [{ url: "https://api.example.com" }]);
    assert.deepEqual(JSON.parse(JSON.stringify(document)), document);
  });

  it("has every route, with its security and every error under its status", () => {
    for (const route of routes) {
      const operation = paths[route.path]?.[route.method.toLowerCase()];
      assert.ok(operation, route.path);
      assert.deepEqual(operation.security, route.access === "public" ? [] : [{ bearer: [] }]);
      for (const code of errorsOf(route)) {
        const { status } = ERRORS[code];
        assert.deepEqual(problemExample(operation, status, code), { code, status }, `${route.path} ${code}`);
      }
    }
  });

  it("has /v1/verify with the contract's parameters and statuses", () => {
    assert.deepEqual(
      verify?.parameters?.map(({ name, in: where, required }) => [name, where, required]),
      [
        ["email", "query", true],
        ["refresh", "query", false],
        ["evidence", "query", false],
      ],
    );
    for (const status of ["200", "400", "401", "402", "429"]) assert.ok(verify?.responses[status], status);
    const codes = Object.keys(verify?.responses["429"]?.content["application/problem+json"]?.examples ?? {});
    assert.deepEqual(codes.sort(), ["quota_exceeded", "rate_limited"]);
  });

  it("describes every parameter", () => {
    const parameters = Object.values(paths).flatMap((path) =>
      Object.values(path).flatMap((operation) => operation.parameters ?? []),
    );
    assert.ok(parameters.length >= 3);
    for (const { name, description = "" } of parameters) assert.match(description, /\w+ \w+/, name);
  });

  it("tells of limits where they are sent: not before it is known who asks", () => {
    const told = Object.entries(verify?.responses ?? {}).map(([code, { headers }]) => [
      Number(code),
      "RateLimit" in headers && "RateLimit-Policy" in headers,
    ]);
    assert.deepEqual(
      told.filter(([, isTold]) => !isTold).map(([code]) => code),
      [401, 414],
    );
  });

  it("lists the reasons, and the ways a check can end", () => {
    const result = verify?.responses["200"]?.content["application/json"]?.schema;
    const checks = result?.properties?.checks?.properties;
    const reasons = [...new Set(Object.values(ROWS).map((row) => row.reason))];
    assert.deepEqual(result?.properties?.reason?.enum, reasons);
    assert.ok(checks?.smtp?.properties?.status?.enum?.includes("greylisted"));
    assert.ok(checks?.mx?.properties?.status?.enum?.includes("null_mx"));
    for (const name of ["disposable", "role", "reputation"])
      assert.deepEqual(checks?.[name]?.properties?.status?.enum, ["checked", "skipped"], name);
  });

  it("allows the methods that it names, HEAD beside a GET that charges nothing, and OPTIONS", () => {
    const router = createRouter(routes);
    for (const [path, operations] of Object.entries(paths)) {
      const methods = Object.keys(operations).map((method) => method.toUpperCase());
      const isFree = routes.some(
        (route) => route.path === path && route.method === "GET" && !route.rateLimited,
      );
      const allow = [...methods, ...(isFree ? ["HEAD"] : []), "OPTIONS"].sort().join(", ");
      assert.throws(() => router.match("BREW", path), { headers: { Allow: allow } });
    }
    assert.throws(() => router.match("HEAD", "/v1/verify"), { code: "method_not_allowed" });
    assert.equal(router.match("HEAD", "/healthz").route.operationId, "getHealth");
  });

  it("has every field of the contract's verification result, required", () => {
    const contract: Record<string, string[]> = {
      "": ["verdict", "risk_score", "checks", "cached", "cache_ttl_seconds", "verified_at"],
      format: ["ok"],
      mx: ["ok", "hosts"],
      disposable: ["is_disposable", "source"],
      role: ["is_role", "role"],
      smtp: ["ok", "code", "latency_ms"],
      reputation: ["score", "risk", "signals"],
    };
    const result = verify?.responses["200"]?.content["application/json"]?.schema;
    for (const [check, fields] of Object.entries(contract)) {
      const schema = check === "" ? result : result?.properties?.checks?.properties?.[check];
      for (const field of fields) {
        assert.ok(schema?.properties?.[field], `${check}.${field}`);
        assert.ok(schema.required?.includes(field), `${check}.${field}`);
      }
    }
    assert.deepEqual(result?.properties?.verdict?.enum, ["valid", "invalid", "risky", "unknown"]);
  });

  it("refers to nothing that it does not hold", () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      (match) => match[1] ?? "",
    );
    assert.ok(refs.length > 0);
    for (const ref of new Set(refs)) {
      const target = ref
        .split("/")
        .reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document);
      assert.ok(target, ref);
    }
  });
});
