import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { ERRORS, type ErrorCode } from "../core/errors.ts";
import { type Problem, problemType } from "./problem.ts";
import type { Route, RouteInfo, Success } from "./route.ts";
import { ProblemSchema } from "./schemas.ts";

type Json = Record<string, unknown>;

const EXAMPLE_REQUEST_ID = "req_01h455vb4pex5vsknk084sn02q";

/** The JSON Schema (2020-12) of what goes in (`input`: before transformations) or comes out. */
function schemaOf(schema: v.GenericSchema, typeMode: "input" | "output"): Json {
  const { $schema: _dialect, ...rest } = toJsonSchema(schema, {
    target: "draft-2020-12",
    typeMode,
    errorMode: "ignore",
  });
  return rest;
}

function parametersOf(schema: v.GenericSchema, where: "query" | "path"): Json[] {
  const { properties = {}, required = [] } = schemaOf(schema, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: where,
    required: where === "path" || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: property,
  }));
}

/** Every error a route may answer: those it names, and those that follow from what it takes. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  if (route.access !== "public") {
    codes.add("unauthorized");
    if (route.access.role !== "member") codes.add("insufficient_role");
  }
  if (route.rateLimited) codes.add("rate_limited");
  if (route.query !== "ignored" || route.params !== undefined)
    for (const code of ["bad_request", "validation_failed", "uri_too_long"] as const) codes.add(code);
  if (route.body !== undefined)
    for (const code of [
      "validation_failed",
      "malformed_json",
      "body_too_large",
      "unsupported_media_type",
    ] as const)
      codes.add(code);
  codes.add("internal_error");
  if (route.essential !== true) codes.add("overloaded");
  return [...codes];
}

function problemExample(code: ErrorCode): Problem {
  const { status, title } = ERRORS[code];
  const errors =
    code === "validation_failed" ? { errors: [{ path: "email", message: "must not be empty" }] } : {};
  return {
    type: problemType(code),
    title,
    status,
    detail: title,
    code,
    request_id: EXAMPLE_REQUEST_ID,
    ...errors,
  };
}

/** Thrown before it is known who asks, so that his limits cannot be told. */
const BEFORE_AUTHENTICATION: ReadonlySet<ErrorCode> = new Set(["unauthorized", "uri_too_long"]);

function problemResponse(status: number, codes: ErrorCode[], limited: boolean): Json {
  const headers: Json = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };
  if (status === 401) headers["WWW-Authenticate"] = { $ref: "#/components/headers/WwwAuthenticate" };
  if (status === 429 || status === 503) headers["Retry-After"] = { $ref: "#/components/headers/RetryAfter" };
  if (limited && !codes.every((code) => BEFORE_AUTHENTICATION.has(code)))
    Object.assign(headers, RATE_LIMIT_HEADERS);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
    headers,
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        examples: Object.fromEntries(codes.map((code) => [code, { value: problemExample(code) }])),
      },
    },
  };
}

const RATE_LIMIT_HEADERS = {
  "RateLimit-Policy": { $ref: "#/components/headers/RateLimitPolicy" },
  RateLimit: { $ref: "#/components/headers/RateLimit" },
};

function successResponse({ description, schema, example }: Success, limited: boolean): Json {
  return {
    description,
    headers: {
      "X-Request-Id": { $ref: "#/components/headers/RequestId" },
      ...(limited ? RATE_LIMIT_HEADERS : {}),
    },
    ...(schema === null
      ? {}
      : {
          content: {
            "application/json": {
              schema: schemaOf(schema, "output"),
              ...(example === undefined ? {} : { example }),
            },
          },
        }),
  };
}

function responsesOf(route: Route): Json {
  const limited = route.access !== "public";
  const responses: Json = {};
  for (const success of [route.success, ...(route.alternatives ?? [])])
    responses[success.status] = successResponse(success, limited);
  const codes = errorsOf(route);
  for (const status of new Set(codes.map((code) => ERRORS[code].status).sort((a, b) => a - b))) {
    const ofStatus = codes.filter((code) => ERRORS[code].status === status);
    responses[status] ??= problemResponse(status, ofStatus, limited);
  }
  return responses;
}

function requestBodyOf({ body }: RouteInfo): Json {
  if (body === undefined) return {};
  return {
    requestBody: { required: true, content: { "application/json": { schema: schemaOf(body, "input") } } },
  };
}

function operationOf(route: Route): Json {
  const parameters = [
    ...(route.params === undefined ? [] : parametersOf(route.params, "path")),
    ...(route.query === undefined || route.query === "ignored" ? [] : parametersOf(route.query, "query")),
  ];
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    security: route.access === "public" ? [] : [{ bearer: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(route),
    responses: responsesOf(route),
  };
}

const stringHeader = (description: string): Json => ({ description, schema: { type: "string" } });

function components(): Json {
  return {
    securitySchemes: {
      bearer: {
        type: "http",
        scheme: "bearer",
        description: "An API key (`rcpt_live_…`, `rcpt_test_…`) or a portal session (`rcpt_sess_…`).",
      },
    },
    schemas: { Problem: schemaOf(ProblemSchema, "output") },
    headers: {
      RequestId: stringHeader("The request's id: yours when it is sane, else a new one."),
      RetryAfter: { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } },
      WwwAuthenticate: stringHeader("`Bearer`."),
      RateLimitPolicy: stringHeader("The limits in force (IETF httpapi draft)."),
      RateLimit: stringHeader("What is left of them (IETF httpapi draft)."),
    },
  };
}

/** The OpenAPI 3.1 document of a route table: paths, parameters, bodies, every reply and every error. */
export function createOpenApiDocument(routes: readonly Route[], publicUrl: string | null): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, { [route.method.toLowerCase()]: operationOf(route) });
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "rcpt",
      version: "1",
      summary: "Email verification: every failure attributed.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: publicUrl ?? "/" }],
    paths,
    components: components(),
  };
}
