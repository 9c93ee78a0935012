import type * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { ERRORS, type ErrorCode } from "../../platform/errors.ts";
import type { RetainedHeader } from "../request/request.ts";
import { jsonBounds, type Route, type Success, tellsClientRate } from "../routing/route.ts";
import { named } from "../schemas/fields.ts";
import { ProblemSchema } from "../schemas/problem.ts";
import { errorsOf, problemExample } from "./errors.ts";
import { createSchemas, type Json, type Schemas } from "./schemas.ts";
import { TAGS } from "./tags.ts";
import { webhooksOf } from "./webhooks.ts";

/** Thrown before it is known whose limits the answer could state: those of a team are, once the sender is authenticated. */
function isBeforeLimits(code: ErrorCode, route: Route): boolean {
  return code === "uri_too_long" || (code === "unauthorized" && route.access !== "public");
}

const tellsLimits = (route: Route) => route.access !== "public" || tellsClientRate(route);

const header = (name: string) => ({ $ref: `#/components/headers/${name}` });

const RATE_LIMIT_HEADERS = {
  "RateLimit-Policy": header("RateLimitPolicy"),
  RateLimit: header("RateLimit"),
};

const stringHeader = (description: string): Json => ({ description, schema: { type: "string" } });

function problemResponse(status: number, codes: ErrorCode[], route: Route): Json {
  const headers: Json = { "X-Request-Id": header("RequestId") };
  if (status === 401) headers["WWW-Authenticate"] = header("WwwAuthenticate");
  if (status === 429 || status === 503 || codes.includes("idempotency_in_flight"))
    headers["Retry-After"] = header("RetryAfter");
  if (tellsLimits(route) && !codes.every((code) => isBeforeLimits(code, route)))
    Object.assign(headers, RATE_LIMIT_HEADERS);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
    headers,
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** The content by media type: one schema, and an example in each type. */
function contentOf(success: Success, schema: v.GenericSchema, schemas: Schemas): Json {
  const { contentType = "application/json", example, alsoAs = {} } = success;
  const shown = ([type, like]: [string, unknown]) => [
    type,
    { schema: schemas.output(schema), ...(like === undefined ? {} : { example: like }) },
  ];
  return Object.fromEntries(
    [[contentType, example] as [string, unknown], ...Object.entries(alsoAs)].map(shown),
  );
}

function successResponse(success: Success, route: Route, schemas: Schemas): Json {
  const { description, schema, headers = {} } = success;
  const own = Object.entries(headers).map(([name, says]) => [name, stringHeader(says)]);
  return {
    description,
    headers: {
      "X-Request-Id": header("RequestId"),
      ...(tellsLimits(route) ? RATE_LIMIT_HEADERS : {}),
      ...(route.idempotent === true ? { "Idempotent-Replayed": header("IdempotentReplayed") } : {}),
      ...Object.fromEntries(own),
    },
    ...(schema === null ? {} : { content: contentOf(success, schema, schemas) }),
  };
}

function responsesOf(route: Route, schemas: Schemas): Json {
  const responses: Json = {};
  for (const success of [route.success, ...(route.alternatives ?? [])]) {
    if (success.status in responses)
      throw new Error(`${route.operationId} describes its status ${success.status} twice`);
    responses[success.status] = successResponse(success, route, schemas);
  }
  const codes = errorsOf(route);
  const statuses = new Set(codes.map((code) => ERRORS[code].status));
  for (const status of [...statuses].sort((a, b) => a - b)) {
    const ofStatus = codes.filter((code) => ERRORS[code].status === status);
    responses[status] ??= problemResponse(status, ofStatus, route);
  }
  return responses;
}

/** A default is stored as it would be sent. */
function withTypedDefault(schema: Json): Json {
  const isText = schema.type === "string" || typeof schema.default !== "string";
  return isText ? schema : { ...schema, default: JSON.parse(schema.default as string) };
}

function parametersOf(schema: v.GenericSchema, where: "query" | "path", schemas: Schemas): Json[] {
  // Types are those of the output, e.g. numbers instead of digits. `required` is that of the input: a field with a default
  // is optional.
  const { properties = {} } = schemas.output(schema) as { properties?: Record<string, Json> };
  const { required = [] } = schemas.input(schema) as { required?: string[] };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: where,
    required: where === "path" || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: withTypedDefault(property),
  }));
}

/** Headers that routes without a body read, as far as any caller may send them. */
const READ_HEADERS: Partial<Record<RetainedHeader, Json>> = {
  range: {
    name: "Range",
    description:
      "One range of bytes, `bytes=1024-` or `bytes=0-1023`: of a completed job, and without `verdict`. Others are ignored.",
    schema: { type: "string" },
  },
  "if-range": {
    name: "If-Range",
    description: "The `ETag` of what you have: when it is no longer that, all of it comes and not the range.",
    schema: { type: "string" },
  },
  "last-event-id": {
    name: "Last-Event-ID",
    description: "The `id` of the last event that you have heard of; browsers send it by themselves.",
    schema: { type: "string" },
  },
};

function headerParametersOf(route: Route): Json[] {
  return (route.readsHeaders ?? []).flatMap((name) => {
    const parameter = READ_HEADERS[name];
    return parameter === undefined ? [] : [{ ...parameter, in: "header", required: false }];
  });
}

const { bytesPerS, graceMs } = LIMITS.http.bodies.pace;
const LEAST_RATE = `One that comes for ${graceMs / 1_000} s at less than ${bytesPerS / 1_024} KiB/s is refused (408).`;

const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function requestBodyOf(route: Route, schemas: Schemas): Json {
  if (route.incoming !== undefined) {
    const bytes = route.incomingBody ?? "As many bytes as a list of the team may have.";
    // Any media type is allowed, which generators cannot express.
    const content = {
      "application/octet-stream": {
        schema: { type: "string", format: "binary" },
        example: route.bodyExample,
      },
    };
    return { requestBody: { required: false, description: `${bytes} ${LEAST_RATE}`, content } };
  }
  const body = route.body ?? route.signedBody;
  if (body === undefined) return {};
  const { bodyExample } = route;
  const content = {
    schema: schemas.input(named(`${upperFirst(route.operationId)}Request`, body)),
    ...(bodyExample === undefined ? {} : { example: bodyExample }),
  };
  const bytes = (route.bodyBytes ?? LIMITS.http.bodyBytes).toLocaleString("en-US");
  const { depth, members, values } = jsonBounds(route);
  const counts = `${depth} levels, ${members.toLocaleString("en-US")} names in objects and ${values.toLocaleString("en-US")} values`;
  const description = `At most ${bytes} bytes, also when decompressed, ${counts}. ${LEAST_RATE}`;
  return { requestBody: { required: true, description, content: { "application/json": content } } };
}

/** An empty requirement: no credential will do too. */
function securityOf(route: Route): Json[] {
  if (route.access !== "public") return [{ bearer: [] }];
  return route.mayAuthenticate === true ? [{}, { bearer: [] }] : [];
}

function operationOf(route: Route, schemas: Schemas): Json {
  const { params, query } = route;
  const parameters = [
    ...(params === undefined ? [] : parametersOf(params, "path", schemas)),
    ...(query === undefined || query === "ignored" ? [] : parametersOf(query, "query", schemas)),
    ...headerParametersOf(route),
    ...(route.idempotent === true ? [{ $ref: "#/components/parameters/IdempotencyKey" }] : []),
  ];
  const needs = route.access === "public" ? "" : `Needs the role \`${route.access.role}\` or above.`;
  const description = [route.description ?? "", needs].filter((text) => text !== "").join("\n\n");
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(description === "" ? {} : { description }),
    tags: [route.tag],
    security: securityOf(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(route, schemas),
    responses: responsesOf(route, schemas),
  };
}

function components(schemas: Schemas): Json {
  return {
    securitySchemes: {
      bearer: {
        type: "http",
        scheme: "bearer",
        description:
          "An API key (`rcpt_live_…`, `rcpt_test_…`) or a portal session (`rcpt_sess_…`). An address that sends many " +
          "unknown ones is answered 429 for a while.",
      },
    },
    schemas: schemas.components,
    parameters: {
      IdempotencyKey: {
        name: "Idempotency-Key",
        in: "header",
        required: false,
        description:
          "Makes the request safe to send again: for 24 hours the same key with the same body gets the first answer, " +
          "with `Idempotent-Replayed: true`. What is shown once is null then. Use a new random key for each new request. " +
          "A refusal leaves the key free for another try, but for those that say what is there already " +
          "(`already_blocked` and its like), which are kept. After a 503 the request may have been done all the same, " +
          "and the same key may then do it again: look first where that matters. " +
          `A team's latest ${LIMITS.idempotency.perTeam} keys are remembered, in live and in test mode each.`,
        schema: { type: "string", minLength: 1, maxLength: LIMITS.idempotency.keyChars },
        example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
      },
    },
    examples: Object.fromEntries(
      (Object.keys(ERRORS) as ErrorCode[]).map((code) => [
        code,
        { summary: ERRORS[code].title, value: problemExample(code) },
      ]),
    ),
    headers: {
      RequestId: stringHeader("The request's id: yours when it is sane, else a new one."),
      RetryAfter: { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } },
      WwwAuthenticate: stringHeader("`Bearer`."),
      RateLimitPolicy: stringHeader(
        "The limits that this request is subject to (IETF httpapi draft): `q` requests in `w` seconds. Of the team's rates, " +
          "`rate` is that of verifications and submitted lists, `read` of other requests that only read, `write` of other " +
          "requests that change something; live and test credentials have one each. `quota` is the daily quota. Where no credential " +
          "is needed, `client` is the rate of the client's address.",
      ),
      RateLimit: stringHeader("What is left of them (IETF httpapi draft): `r` requests, for `t` seconds."),
      IdempotentReplayed: {
        description: "Only on an answer that was given before, to the same Idempotency-Key.",
        schema: { type: "string", enum: ["true"] },
      },
    },
  };
}

/**
 * The OpenAPI 3.1 document of a route table: paths, parameters, bodies, every reply and every error.
 * @throws Error when a route describes a status twice: the document would lose one of the two
 */
export function createOpenApiDocument(table: readonly Route[], publicUrl: string | null): Json {
  const routes = table.filter((route) => route.internal !== true);
  const schemas = createSchemas();
  schemas.output(ProblemSchema);
  const paths: Record<string, Json> = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, schemas) };
  const used = new Set(routes.map((route) => route.tag));
  return {
    openapi: "3.1.0",
    info: {
      title: "rcpt",
      version: "1",
      summary: "Email verification: every failure attributed.",
      description:
        "Bodies are JSON; errors are problems (RFC 9457) with a stable `code`. Lists are pages: send `next_cursor` as " +
        "`cursor` for what follows. Times are ISO 8601 in UTC. Credential, role, tier and rate are looked at before a body is " +
        "read: a refusal may come before all of the body was sent. Requests are not to be pipelined: one that comes before " +
        "the answer to the one before it may close the connection, which cancels both. HTTP/1.1 only.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: publicUrl ?? "/" }],
    tags: Object.entries(TAGS).flatMap(([name, description]) =>
      used.has(name) ? [{ name, description }] : [],
    ),
    paths,
    // Present together with the job's routes, whose schema they share.
    ...(routes.some(({ operationId }) => operationId === "getBulkJob")
      ? { webhooks: webhooksOf(schemas) }
      : {}),
    components: components(schemas),
  };
}
