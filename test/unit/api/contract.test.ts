import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOpenApiDocument } from "../../../src/api/openapi/openapi.ts";
import { routes } from "../../support/route-table.ts";

/**
 * The tables of the interface specification, copied by hand from it alone. A route, status, field or bound that
 * `/openapi.json` lacks fails here. Additions of the service are not checked.
 */
const ENDPOINTS: readonly [method: string, path: string, success: number, errors: readonly number[]][] = [
  ["GET", "/v1/verify", 200, [400, 401, 402, 429]],
  ["POST", "/v1/verify/bulk", 202, [400, 402, 413, 429]],
  ["GET", "/v1/bulk-jobs/{id}", 200, [404]],
  ["GET", "/v1/usage", 200, [401]],
  ["GET", "/v1/usage/history", 200, []],
  ["GET", "/v1/keys", 200, []],
  ["POST", "/v1/keys", 201, [401]],
  ["GET", "/v1/webhooks", 200, []],
  ["POST", "/v1/webhooks", 201, []],
  ["DELETE", "/v1/webhooks/{id}", 204, []],
  ["GET", "/v1/team", 200, []],
  ["PATCH", "/v1/team", 200, []],
  ["DELETE", "/v1/team", 204, [401, 403]],
  ["DELETE", "/v1/team/invites/{id}", 204, []],
  ["GET", "/v1/blocklist", 200, []],
  ["POST", "/v1/blocklist", 201, [409]],
  ["DELETE", "/v1/blocklist/{domain}", 204, []],
  ["POST", "/v1/admin/disposable", 201, [400, 401, 403]],
  ["GET", "/v1/admin/disposable", 200, [401, 403]],
  ["GET", "/v1/admin/disposable/pending", 200, [401, 403]],
  ["POST", "/v1/billing/subscribe", 200, [502, 503]],
  ["POST", "/webhooks/stripe", 200, [400, 401]],
];

/** Errors of the specification, each with its code. */
const ERROR_CODES: readonly [method: string, path: string, status: number, code: string][] = [
  ["GET", "/v1/verify", 402, "unavailable_in_tier"],
  ["GET", "/v1/verify", 429, "quota_exceeded"],
  ["GET", "/v1/verify", 429, "rate_limited"],
  ["POST", "/v1/verify/bulk", 402, "unavailable_in_tier"],
  ["POST", "/v1/verify/bulk", 413, "bulk_too_large"],
  ["POST", "/v1/verify/bulk", 429, "quota_exceeded"],
  ["POST", "/v1/keys", 401, "key_without_user"],
  ["DELETE", "/v1/team", 403, "insufficient_role"],
  ["POST", "/v1/blocklist", 409, "already_blocked"],
  ["POST", "/v1/admin/disposable", 400, "validation_failed"],
  ["POST", "/v1/admin/disposable", 403, "insufficient_role"],
  ["POST", "/v1/billing/subscribe", 502, "billing_provider_error"],
  ["POST", "/v1/billing/subscribe", 503, "billing_unconfigured"],
  ["POST", "/webhooks/stripe", 401, "invalid_signature"],
];

const PARAMETERS: readonly [method: string, path: string, name: string, where: string, required: boolean][] =
  [
    ["GET", "/v1/verify", "email", "query", true],
    ["GET", "/v1/verify", "refresh", "query", false],
    ["GET", "/v1/bulk-jobs/{id}", "id", "path", true],
    ["GET", "/v1/usage/history", "days", "query", false],
    ["DELETE", "/v1/webhooks/{id}", "id", "path", true],
    ["DELETE", "/v1/team/invites/{id}", "id", "path", true],
    ["DELETE", "/v1/blocklist/{domain}", "domain", "path", true],
  ];

/** Path and JSON type of every field of the verification result. */
const RESULT_FIELDS: readonly [path: string, types: readonly string[]][] = [
  ["verdict", ["string"]],
  ["risk_score", ["integer"]],
  ["checks", ["object"]],
  ["checks.format", ["object"]],
  ["checks.format.ok", ["boolean"]],
  ["checks.mx", ["object"]],
  ["checks.mx.ok", ["boolean"]],
  ["checks.mx.hosts", ["array"]],
  ["checks.disposable", ["object"]],
  ["checks.disposable.is_disposable", ["boolean"]],
  ["checks.disposable.source", ["string"]],
  ["checks.role", ["object"]],
  ["checks.role.is_role", ["boolean"]],
  ["checks.role.role", ["null", "string"]],
  ["checks.smtp", ["object"]],
  ["checks.smtp.ok", ["boolean"]],
  ["checks.smtp.code", ["integer"]],
  ["checks.smtp.latency_ms", ["integer"]],
  ["checks.reputation", ["object"]],
  ["checks.reputation.score", ["integer"]],
  ["checks.reputation.risk", ["string"]],
  ["checks.reputation.signals", ["array"]],
  ["cached", ["boolean"]],
  ["cache_ttl_seconds", ["integer"]],
  ["verified_at", ["string"]],
];

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
}
interface Operation {
  security: object[];
  parameters?: { name?: string; in?: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<
    string,
    { content?: Record<string, { schema?: Schema; examples?: Record<string, unknown> }> }
  >;
}

/** As a client reads it. */
const document = JSON.parse(JSON.stringify(createOpenApiDocument(routes, null))) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

function operationAt(method: string, path: string): Operation {
  const operation = document.paths[path]?.[method.toLowerCase()];
  assert.ok(operation, `${method} ${path} is missing`);
  return operation;
}

function resolved(schema: Schema | undefined): Schema {
  const name = schema?.$ref?.split("/").at(-1);
  const found = name === undefined ? schema : document.components.schemas[name];
  assert.ok(found, `no schema ${name}`);
  return found;
}

const bodyOf = (operation: Operation) => resolved(operation.requestBody?.content["application/json"]?.schema);
const answerOf = (operation: Operation, status: number) =>
  resolved(operation.responses[status]?.content?.["application/json"]?.schema);

/** JSON types that a field may have, sorted. */
function typesOf(schema: Schema): string[] {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.flatMap(typesOf))].sort();
  const literals = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  return schema.type === undefined ? [...new Set(literals.map((value) => typeof value))] : [schema.type];
}

/** The field at a dotted path; it and every object above it must be required. */
function requiredField(schema: Schema, path: string): Schema {
  return path.split(".").reduce((at, name) => {
    const field = resolved(at).properties?.[name];
    assert.ok(field, `${path} is missing`);
    assert.ok(resolved(at).required?.includes(name), `${path} is not required`);
    return resolved(field);
  }, schema);
}

describe("the interface specification", () => {
  it("has 22 endpoints", () => assert.equal(ENDPOINTS.length, 22));

  for (const [method, path, success, errors] of ENDPOINTS)
    it(`${method} ${path}: ${[success, ...errors].join(", ")}`, () => {
      const { responses } = operationAt(method, path);
      assert.ok(responses[success], `${success} is missing`);
      const successes = Object.keys(responses).filter((status) => status.startsWith("2"));
      assert.deepEqual(successes, [String(success)]);
      assert.equal(responses[success]?.content === undefined, success === 204);
      for (const status of errors)
        assert.ok(responses[status]?.content?.["application/problem+json"], `${status} is missing`);
    });

  for (const [method, path, status, code] of ERROR_CODES)
    it(`${method} ${path}: ${status} says ${code}`, () => {
      const { responses } = operationAt(method, path);
      const examples = responses[status]?.content?.["application/problem+json"]?.examples ?? {};
      assert.ok(code in examples, `only ${Object.keys(examples)}`);
    });

  it("asks every endpoint but the last for a bearer credential", () => {
    for (const [method, path] of ENDPOINTS) {
      const operation = document.paths[path]?.[method.toLowerCase()];
      if (operation === undefined) continue;
      assert.deepEqual(operation.security, path === "/webhooks/stripe" ? [] : [{ bearer: [] }], path);
    }
  });

  for (const [method, path, name, where, required] of PARAMETERS)
    it(`${method} ${path} takes ${name} in the ${where}`, () => {
      const { parameters = [] } = operationAt(method, path);
      const parameter = parameters.find((one) => one.name === name);
      assert.deepEqual([parameter?.in, parameter?.required], [where, required]);
    });

  it("has the verification result with every field in its type, required", () => {
    const result = answerOf(operationAt("GET", "/v1/verify"), 200);
    for (const [path, types] of RESULT_FIELDS)
      assert.deepEqual(typesOf(requiredField(result, path)), types, path);
    assert.deepEqual(requiredField(result, "verdict").enum, ["valid", "invalid", "risky", "unknown"]);
    assert.deepEqual(typesOf(requiredField(result, "checks.mx.hosts").items ?? {}), ["string"]);
  });

  it("takes label and env for a key, and gives its secret", () => {
    const operation = operationAt("POST", "/v1/keys");
    const body = bodyOf(operation);
    assert.deepEqual(typesOf(requiredField(body, "label")), ["string"]);
    assert.ok(requiredField(body, "env").enum?.includes("live"));
    assert.ok(typesOf(requiredField(answerOf(operation, 201), "secret")).includes("string"));
  });

  it("takes 1 to 500 domains of 1 to 253 characters", () => {
    const domains = requiredField(bodyOf(operationAt("POST", "/v1/admin/disposable")), "domains");
    assert.equal(domains.type, "array");
    assert.deepEqual([domains.minItems, domains.maxItems], [1, 500]);
    const item = resolved(domains.items);
    assert.deepEqual([item.type, item.minLength, item.maxLength], ["string", 1, 253]);
  });

  it("counts the pending overrides, and gives an address to pay at", () => {
    const pending = answerOf(operationAt("GET", "/v1/admin/disposable/pending"), 200);
    assert.deepEqual(typesOf(requiredField(pending, "pending")), ["integer"]);
    const checkout = answerOf(operationAt("POST", "/v1/billing/subscribe"), 200);
    assert.deepEqual(typesOf(requiredField(checkout, "checkout_url")), ["string"]);
  });
});
