import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import * as v from "valibot";
import { errorsOf } from "../../../src/api/openapi/errors.ts";
import { createOpenApiDocument } from "../../../src/api/openapi/openapi.ts";
import { TAGS } from "../../../src/api/openapi/tags.ts";
import { eventSchema } from "../../../src/api/openapi/webhooks.ts";
import type { Problem } from "../../../src/api/reply/problem.ts";
import { createRouter } from "../../../src/api/routing/router.ts";
import { EVENT_TYPES } from "../../../src/config/events.ts";
import { messageBody } from "../../../src/features/webhooks/signature.ts";
import { ERRORS } from "../../../src/platform/errors.ts";
import { JOB_ERRORS } from "../../../src/platform/job-errors.ts";
import { VERDICT_ROWS } from "../../../src/verification/verdict/table.ts";
import { routes } from "../../support/route-table.ts";

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  requestBody?: { content: Record<string, Content> };
  security: unknown[];
  parameters?: {
    $ref?: string;
    name: string;
    in: string;
    required: boolean;
    description?: string;
    schema: JsonSchema;
  }[];
  responses: Record<string, { description: string; headers: object; content: Record<string, Content> }>;
}
interface Content {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { $ref: string }>;
}
interface JsonSchema {
  $ref?: string;
  anyOf?: JsonSchema[];
  type?: string;
  description?: string;
  enum?: string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

function problemExample(operation: Operation | undefined, status: number, code: string) {
  const content = operation?.responses[status]?.content["application/problem+json"];
  const $ref = content?.examples?.[code]?.$ref;
  assert.equal($ref, `#/components/examples/${code}`);
  const { examples } = document.components as { examples: Record<string, { value: Problem }> };
  const problem = examples[code]?.value;
  return { code: problem?.code, status: problem?.status };
}

const document = createOpenApiDocument(routes, "https://api.example.com");
const { schemas } = document.components as { schemas: Record<string, JsonSchema> };

/** The schema of a field, with references resolved. */
function fieldOf(schema: JsonSchema | undefined, ...names: string[]): JsonSchema | undefined {
  const $ref = schema?.$ref ?? schema?.anyOf?.find((option) => option.$ref !== undefined)?.$ref;
  const found = $ref === undefined ? schema : schemas[$ref.split("/").at(-1) ?? ""];
  const [name, ...further] = names;
  return name === undefined ? found : fieldOf(found?.properties?.[name], ...further);
}

describe("the OpenAPI document", () => {
  const paths = document.paths as Record<string, Record<string, Operation>>;
  const verify = paths["/v1/verify"]?.get;
  const operations = Object.values(paths).flatMap((path) => Object.values(path));

  it("is 3.1, names the server, and survives JSON unchanged", () => {
    assert.equal(document.openapi, "3.1.0");
    assert.deepEqual(document.servers, [{ url: "https://api.example.com" }]);
    assert.deepEqual(JSON.parse(JSON.stringify(document)), document);
  });

  it("has every route, with its security and every error under its status", () => {
    for (const route of routes.filter(({ internal }) => internal !== true)) {
      const operation = paths[route.path]?.[route.method.toLowerCase()];
      assert.ok(operation, route.path);
      const strangers = route.mayAuthenticate === true ? [{}, { bearer: [] }] : [];
      assert.deepEqual(operation.security, route.access === "public" ? strangers : [{ bearer: [] }]);
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
        ["probe", "query", false],
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
    for (const { name, description = "", $ref } of parameters)
      if ($ref === undefined) assert.match(description, /\w+ \w+/, name);
  });

  it("documents rate limit headers where they are sent: not before authentication", () => {
    const documented = Object.entries(verify?.responses ?? {}).map(([code, { headers }]) => [
      Number(code),
      "RateLimit" in headers && "RateLimit-Policy" in headers,
    ]);
    assert.deepEqual(
      documented.filter(([, isTold]) => !isTold).map(([code]) => code),
      [401, 414],
    );
  });

  it("lists the reasons, and the ways a check can end", () => {
    const result = verify?.responses["200"]?.content["application/json"]?.schema;
    const reasons = [...new Set(Object.values(VERDICT_ROWS).map((row) => row.reason))];
    assert.deepEqual(fieldOf(result, "reason")?.enum, reasons);
    assert.ok(fieldOf(result, "checks", "smtp", "status")?.enum?.includes("greylisted"));
    assert.ok(fieldOf(result, "checks", "mx", "status")?.enum?.includes("null_mx"));
    for (const name of ["disposable", "role", "reputation"])
      assert.deepEqual(fieldOf(result, "checks", name, "status")?.enum, ["checked", "skipped"], name);
  });

  it("allows the methods that it names, HEAD beside a GET that charges nothing, and OPTIONS", () => {
    const router = createRouter(routes);
    for (const [path, operations] of Object.entries(paths)) {
      const methods = Object.keys(operations).map((method) => method.toUpperCase());
      const isFree = routes.some(
        (route) => route.path === path && route.method === "GET" && route.rate !== "verify",
      );
      const allow = [...methods, ...(isFree ? ["HEAD"] : []), "OPTIONS"].sort().join(", ");
      assert.throws(() => router.match("BREW", path), { headers: { Allow: allow } });
    }
    assert.throws(() => router.match("HEAD", "/v1/verify"), { code: "method_not_allowed" });
    assert.equal(router.match("HEAD", "/healthz").route.operationId, "getHealth");
  });

  it("documents 429 with the time to wait, and the limits of every answer, wherever a rate is kept", () => {
    for (const route of routes.filter(({ rate, internal }) => rate !== "none" && internal !== true)) {
      const operation = paths[route.path]?.[route.method.toLowerCase()];
      const refused = operation?.responses["429"];
      assert.ok(refused?.content["application/problem+json"]?.examples?.rate_limited, route.operationId);
      const { headers } = refused as { headers: Record<string, unknown> };
      const isTold = route.access !== "public" || route.path.startsWith("/v1/");
      const limits = isTold ? ["RateLimit", "RateLimit-Policy"] : [];
      for (const name of ["Retry-After", ...limits])
        assert.ok(name in headers, `${route.operationId}: ${name}`);
    }
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
      const schema = check === "" ? fieldOf(result) : fieldOf(result, "checks", check);
      for (const field of fields) {
        assert.ok(schema?.properties?.[field], `${check}.${field}`);
        assert.ok(schema.required?.includes(field), `${check}.${field}`);
      }
    }
    assert.deepEqual(fieldOf(result, "verdict")?.enum, ["valid", "invalid", "risky", "unknown"]);
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

  it("names every object that is sent or answered, so that generators have one type of it", () => {
    for (const { operationId, requestBody, responses } of operations)
      for (const content of [requestBody?.content, ...Object.values(responses).map(({ content }) => content)])
        for (const [type, { schema }] of Object.entries(content ?? {}))
          if (/[/+]json$/.test(type))
            assert.match(schema.$ref ?? "", /^#\/components\/schemas\/\w+$/, operationId);
    assert.equal(
      verify?.responses["200"]?.content["application/json"]?.schema.$ref,
      "#/components/schemas/VerificationResult",
    );
    for (const name of ["Verdict", "Reason", "Role", "Tier", "BulkJob", "BulkJobPage", "BulkCompletedEvent"])
      assert.ok(schemas[name], name);
  });

  it("distinguishes the options of a union by their type", () => {
    assert.deepEqual((schemas.JobSource as { discriminator?: object }).discriminator, {
      propertyName: "type",
      mapping: Object.fromEntries(
        ["Inline", "Upload", "S3"].map((name) => [name.toLowerCase(), `#/components/schemas/${name}Source`]),
      ),
    });
  });

  it("has parameters of the query with their types, and no pattern that only some engines read", () => {
    const typeOf = (path: string, name: string) => {
      const schema = paths[path]?.get?.parameters?.find((parameter) => parameter.name === name)?.schema;
      return [schema?.type, (schema as { default?: unknown } | undefined)?.default];
    };
    assert.deepEqual(typeOf("/v1/keys", "limit"), ["integer", 50]);
    assert.deepEqual(typeOf("/v1/usage/history", "days"), ["integer", 30]);
    assert.deepEqual(typeOf("/v1/verify", "probe"), ["boolean", true]);
    assert.deepEqual(typeOf("/v1/keys", "cursor"), ["string", undefined]);
    assert.ok(!JSON.stringify(document).includes("\\\\p{"));
  });

  it("is valid by the meta-schema of OpenAPI 3.1", async () => {
    const result = await new Validator().validate(structuredClone(document));
    assert.ok(result.valid, JSON.stringify(result.errors, null, 1)?.slice(0, 3_000));
  });

  it("sorts every operation under a tag that it describes", () => {
    const tags = (document.tags as { name: string; description: string }[]).map((tag) => tag.name);
    for (const route of routes) assert.ok(route.tag in TAGS, `${route.path}: ${route.tag}`);
    for (const operation of operations) for (const tag of operation.tags) assert.ok(tags.includes(tag), tag);
  });

  it("describes every field, in and out", () => {
    const missing = operations.flatMap((operation) =>
      undescribed(operation, operation.operationId).concat(
        operation.description === undefined && operation.summary === "" ? [operation.operationId] : [],
      ),
    );
    assert.deepEqual([...missing, ...undescribed(document.components, "components")], []);
  });

  it("shows an example of every body and every answer", () => {
    for (const { operationId, requestBody, responses } of operations) {
      const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
      for (const content of contents)
        for (const [type, shown] of Object.entries(content ?? {})) {
          if (type.startsWith("text/") || operationId === "getOpenApi") continue;
          assert.ok("example" in shown || "examples" in shown, operationId);
        }
    }
  });

  it("documents each content type of results", () => {
    const content = paths["/v1/bulk-jobs/{id}/results"]?.get?.responses["200"]?.content ?? {};
    assert.deepEqual(Object.keys(content), ["text/csv; charset=utf-8", "application/x-ndjson"]);
    for (const [type, { schema }] of Object.entries(content)) assert.equal(schema.type, "string", type);
    const lines = String(content["application/x-ndjson"]?.example);
    assert.match(lines, /^[^\n]+\n$/);
    assert.equal((JSON.parse(lines) as { row: number }).row, 1);
  });

  it("documents each error code of a job, with an example", () => {
    const content = paths["/v1/bulk-jobs"]?.get?.responses["200"]?.content["application/json"];
    const { data: shown } = (content?.example ?? {}) as { data?: { error: { code: string } | null }[] };
    const code = fieldOf(schemas.JobError, "code");
    assert.deepEqual(code?.enum, Object.keys(JOB_ERRORS));
    for (const [name, words] of Object.entries(JOB_ERRORS))
      assert.ok(code?.description?.includes(`\`${name}\`: ${words}`), name);
    assert.ok(shown?.some((each) => code?.enum?.includes(each.error?.code ?? "")));
  });

  it("shows the webhook event of a job's end as it is sent", () => {
    const { webhooks } = document as { webhooks: Record<string, { post: Operation }> };
    assert.deepEqual(
      Object.keys(webhooks),
      EVENT_TYPES.filter((type) => type.startsWith("bulk.")),
    );
    for (const [type, { post }] of Object.entries(webhooks)) {
      const content = post.requestBody?.content["application/json"];
      const example = content?.example as v.InferOutput<ReturnType<typeof eventSchema>>;
      v.assert(eventSchema(type), example);
      const { id: event_id, type: event_type, timestamp, livemode, data } = example;
      const sent = messageBody({ event_id, event_type, event_at: new Date(timestamp), livemode, data });
      assert.deepEqual(JSON.parse(sent), example);
      assert.deepEqual(undescribed(post, type), []);
    }
  });

  it("names the headers that reading takes up again with, and those that it answers", () => {
    const headersOf = (path: string) =>
      paths[path]?.get?.parameters?.flatMap(({ name, in: where }) => (where === "header" ? [name] : []));
    assert.deepEqual(headersOf("/v1/bulk-jobs/{id}/results"), ["Range", "If-Range"]);
    assert.deepEqual(headersOf("/v1/bulk-jobs/{id}/events"), ["Last-Event-ID"]);
    const { responses = {} } = paths["/v1/bulk-jobs/{id}/results"]?.get ?? {};
    for (const status of ["200", "206"])
      for (const name of ["ETag", "Accept-Ranges"])
        assert.ok(name in (responses[status]?.headers ?? {}), name);
  });

  it("is not made of a route that describes a status twice", () => {
    const [route] = routes;
    assert.ok(route);
    const twice = { ...route, alternatives: [{ ...route.success, description: "Another" }] };
    assert.throws(() => createOpenApiDocument([twice], null), /describes its status \d+ twice/);
  });

  it("offers Idempotency-Key where it is honoured", () => {
    for (const route of routes) {
      const operation = operations.find(({ operationId }) => operationId === route.operationId);
      const offered = operation?.parameters?.some(({ $ref }) => $ref?.endsWith("/IdempotencyKey")) ?? false;
      assert.equal(offered, route.idempotent === true, route.path);
      if (!offered) continue;
      assert.ok("Idempotent-Replayed" in (operation?.responses[route.success.status]?.headers ?? {}));
      for (const [status, code] of [
        [409, "idempotency_in_flight"],
        [422, "idempotency_mismatch"],
      ] as const)
        assert.deepEqual(problemExample(operation, status, code), { code, status });
    }
  });
});

/** Paths of the fields in a part of the document that have no description. */
function undescribed(part: unknown, at: string): string[] {
  if (typeof part !== "object" || part === null) return [];
  const { properties } = part as { properties?: Record<string, { description?: string }> };
  const own = Object.entries(properties ?? {})
    .filter(([, field]) => typeof field === "object" && !("$ref" in field) && field.description === undefined)
    .map(([name]) => `${at}.${name}`);
  const inner = Object.entries(part).filter(([name]) => name !== "example" && name !== "examples");
  return [...own, ...inner.flatMap(([name, value]) => undescribed(value, `${at}.${name}`))];
}
