import * as v from "valibot";
import { createOpenApiDocument } from "../../../src/api/openapi/openapi.ts";
import { HttpReply } from "../../../src/api/reply/reply.ts";
import {
  createHealthRoute,
  createOpenApiRoute,
  createReadinessRoute,
} from "../../../src/api/routes/operations.ts";
import { createVerifyRoute } from "../../../src/api/routes/verify.ts";
import { publicRoute, type Route, teamRoute } from "../../../src/api/routing/route.ts";
import type { Readiness } from "../../../src/api/schemas/health.ts";
import type { RequestGate } from "../../../src/api/server/dispatch.ts";
import { createHttpServer, type HttpLimits } from "../../../src/api/server/server.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { effectiveLimits } from "../../../src/config/tiers.ts";
import type { Actor } from "../../../src/features/identity/actor.ts";
import { createPublicLimitsView, NO_QUOTA } from "../../../src/features/quota/limits-view.ts";
import { type ClientLimiter, createClientLimiter } from "../../../src/features/rate-limit/clients.ts";
import type { EarlyAdmission } from "../../../src/features/verify/answer/early-admission.ts";
import type { VerificationResult } from "../../../src/features/verify/answer/verification-result.ts";
import type { VerifyAddress } from "../../../src/features/verify/answer/verify-address.ts";
import type { VerifyInput } from "../../../src/features/verify/answer/verify-input.ts";
import { AppError } from "../../../src/platform/errors.ts";
import { createLog, type Logger } from "../../../src/platform/log.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";
import { type Clock, systemClock } from "../../../src/platform/time/clock.ts";
import { exchange, type RawReply } from "../../support/raw-http.ts";

export { connect, exchange, type RawClient } from "../../support/raw-http.ts";

export const AUTHORIZATION = "Authorization: Bearer good";

export const actor: Actor = {
  teamId: "team_1",
  userId: "usr_1",
  keyId: "key_1",
  isSession: false,
  role: "member",
  livemode: true,
  tier: "enterprise",
  limits: effectiveLimits("enterprise", {}),
  limitsAsOfMs: 0,
  overlay: { isBlocked: () => false, isDisposable: () => false },
};

export function resultFor(email: string): VerificationResult {
  return {
    email,
    normalized_email: email,
    verdict: "unknown",
    reason: "deadline",
    risk_score: 50,
    did_you_mean: null,
    checks: {
      format: { ok: true },
      mx: { ok: false, hosts: [], records: [], provider: null, status: "skipped" },
      disposable: { is_disposable: false, source: "none", status: "checked" },
      alias: { is_alias: false, kind: null, service: null, status: "checked" },
      free_provider: { is_free_provider: false, status: "checked" },
      role: { is_role: false, role: null, status: "checked" },
      smtp: {
        ok: false,
        code: 0,
        latency_ms: 0,
        status: "skipped",
        catch_all: "not_probed",
        enhanced_code: null,
        fault: null,
      },
      reputation: { score: 50, risk: "medium", signals: [], status: "checked" },
    },
    cached: false,
    cache_ttl_seconds: 0,
    cache_expires_at: null,
    verified_at: "2026-01-01T00:00:00.000Z",
    retry_at: null,
    livemode: true,
  };
}

export const READY: Readiness = {
  status: "ready",
  dependencies: { postgres: "ok", redis: "ok", objects: "ok", checks: "ok" },
};

/** A gate that knows one credential and never runs dry. */
export function openGate(overrides: Partial<RequestGate> = {}): RequestGate {
  return {
    authenticate(authorization) {
      if (authorization === "Bearer good") return actor;
      throw new AppError("unauthorized", "The credential is missing or unknown.");
    },
    isKnown: (authorization) => authorization === "Bearer good",
    rateLimit: { take: () => {} },
    publicRate: { take: () => {} },
    idempotency: {
      begin: async () => ({ settle: () => Promise.resolve(), release: () => Promise.resolve() }),
      drain: () => Promise.resolve(),
    },
    reads: { run: async (_share, _isCancelled, read) => read() },
    limitsLeft: () => ({
      policy: '"default";q=10;w=1',
      name: "default",
      rate: 9,
      rateResetS: 1,
      quota: NO_QUOTA,
      quotaResetS: 0,
    }),
    publicLimitsLeft: createPublicLimitsView({ snapshot: () => ({ remaining: 7, resetS: 2 }) }),
    ...overrides,
  };
}

/** A route with a body, as the next issues bring them. */
export const EchoSchema = v.strictObject({
  label: v.pipe(v.string(), v.maxLength(50, "must be at most 50 characters")),
  tags: v.optional(v.array(v.string())),
  nested: v.optional(v.unknown()),
});

export function echoRoute(): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/echo",
    operationId: "echo",
    summary: "Echo",
    tag: "test",
    role: "member",
    rate: "read",
    errors: [],
    body: EchoSchema,
    success: { status: 201, description: "Echo", schema: v.unknown() },
    handler: ({ body }) => ({ label: body.label }),
  });
}

/** A route without a credential. */
export function entryRoute(): Route {
  return publicRoute({
    method: "POST",
    path: "/v1/enter",
    operationId: "enter",
    summary: "Enter",
    tag: "test",
    rate: "client",
    errors: [],
    body: EchoSchema,
    success: { status: 201, description: "In", schema: v.unknown() },
    handler: ({ body }) => ({ label: body.label }),
  });
}

type Body = ConstructorParameters<typeof HttpReply>[1];

/** `GET /v1/body`. @param released is called when the server needs the body no longer */
export function bodyRoute(makeBody: () => Body | Promise<Body>, released?: () => void): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/body",
    operationId: "getBody",
    summary: "A body",
    tag: "test",
    role: "member",
    rate: "read",
    errors: [],
    success: { status: 200, description: "A body", schema: v.string() },
    async handler() {
      const contentType = "text/csv; charset=utf-8";
      return new HttpReply(200, await makeBody(), { contentType, ...(released && { released }) });
    },
  });
}

export function itemRoute(): Route {
  return teamRoute({
    method: "DELETE",
    path: "/v1/items/{id}",
    operationId: "deleteItem",
    summary: "Delete",
    tag: "test",
    role: "member",
    rate: "read",
    errors: ["not_found"],
    params: v.strictObject({ id: v.string() }),
    success: { status: 204, description: "Deleted", schema: null },
    handler: ({ params }) => {
      if (params.id !== "known one") throw new AppError("not_found", "No such item.");
      return null;
    },
  });
}

export interface Harness {
  port: number;
  verified: VerifyInput[];
  logged: Record<string, unknown>[];
  metrics: ReturnType<typeof createMetrics>;
  leave(): void;
  drain(): Promise<void>;
  /** Without draining. */
  closeNow(): void;
  /** Drains, then closes. */
  close(): Promise<void>;
}

export interface HarnessOptions {
  verify?: VerifyAddress;
  /** Called before the token is read; absent: admits every request. */
  enter?: EarlyAdmission["enter"];
  gate?: RequestGate;
  readiness?: () => Readiness | Promise<Readiness>;
  extraRoutes?: Route[];
  limits?: Partial<HttpLimits>;
  trustedProxies?: string[];
  corsOrigins?: string[];
  clock?: Clock;
  clients?: ClientLimiter;
}

/** A log that records its events. */
function recordingLog(into: Record<string, unknown>[]): Logger {
  const log = createLog("silent");
  const record = (level: string) => (event: Record<string, unknown>, message: string) => {
    into.push({ ...event, level, message });
  };
  return Object.assign(Object.create(log), {
    info: record("info"),
    warn: record("warn"),
    error: record("error"),
  }) as Logger;
}

/** A real server on a free loopback port with the routes of verification and operations over fakes. */
export async function startServer(options: HarnessOptions = {}): Promise<Harness> {
  const verified: VerifyInput[] = [];
  const logged: Record<string, unknown>[] = [];
  const metrics = createMetrics();
  const routes: Route[] = [
    createVerifyRoute(
      (input, actor, context) => {
        verified.push(input);
        return options.verify?.(input, actor, context) ?? resultFor(input.email);
      },
      {
        mayRefuse: () => false,
        refusal: () => null,
        enter: (input, actor, context) => options.enter?.(input, actor, context),
      },
    ),
    createHealthRoute(),
    createReadinessRoute(options.readiness ?? (() => READY)),
    createOpenApiRoute(() => JSON.stringify(createOpenApiDocument(routes, null))),
    ...(options.extraRoutes ?? []),
  ];
  const server = createHttpServer({
    routes,
    gate: options.gate ?? openGate(),
    clients: options.clients ?? createClientLimiter(),
    log: recordingLog(logged),
    metrics,
    clock: options.clock ?? systemClock,
    isOutage: (error) => error instanceof Error && error.message === "the database is gone",
    config: {
      host: "127.0.0.1",
      port: 0,
      trustedProxies: options.trustedProxies ?? [],
      corsOrigins: options.corsOrigins ?? [],
    },
    limits: { ...LIMITS.http, logSampleEvery: 1, successQuietMs: 0, ...options.limits },
  });
  const { port } = await server.listen();
  return {
    port,
    verified,
    logged,
    metrics,
    leave: () => server.startDraining(),
    drain: () => server.drain(),
    closeNow: () => server.close(),
    async close() {
      await server.drain();
      server.close();
    },
  };
}

export function get(port: number, target: string, ...fields: string[]): Promise<RawReply> {
  return exchange(port, [`GET ${target} HTTP/1.1`, AUTHORIZATION, ...fields]);
}

export function postJson(
  port: number,
  target: string,
  body: string | Buffer,
  ...fields: string[]
): Promise<RawReply> {
  const length = Buffer.byteLength(body);
  return exchange(
    port,
    [
      `POST ${target} HTTP/1.1`,
      AUTHORIZATION,
      "Content-Type: application/json",
      `Content-Length: ${length}`,
      ...fields,
    ],
    typeof body === "string" ? Buffer.from(body) : body,
  );
}
