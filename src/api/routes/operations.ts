import * as v from "valibot";
import { HttpReply } from "../reply/reply.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import { type PublicRoute, publicRoute } from "../routing/route.ts";
import { named } from "../schemas/fields.ts";
import { HealthSchema, type Readiness, ReadinessSchema } from "../schemas/health.ts";

const HEALTHY = { status: "ok" } as const;

/** Alive: the event loop turns. Dependencies are left out, so that their failure restarts no process. */
export function createHealthRoute(): PublicRoute {
  return publicRoute({
    method: "GET",
    path: "/healthz",
    operationId: "getHealth",
    summary: "Is the process alive?",
    tag: "operations",
    rate: "none",
    isEssential: true,
    errors: [],
    query: "ignored",
    success: { status: 200, description: "Alive", schema: HealthSchema, example: HEALTHY },
    handler: () => HEALTHY,
  });
}

/**
 * Ready: requests may be sent here. `unavailable` and `draining` (the process is about to end) are a 503, `degraded` (an
 * optional dependency is down) is not.
 */
export function createReadinessRoute(readiness: () => MaybePromise<Readiness>): PublicRoute {
  const ready: Readiness = {
    status: "ready",
    dependencies: { postgres: "ok", redis: "ok", objects: "ok", checks: "ok" },
  };
  const unavailable: Readiness = {
    status: "unavailable",
    dependencies: { ...ready.dependencies, postgres: "down" },
  };
  return publicRoute({
    method: "GET",
    path: "/readyz",
    operationId: "getReadiness",
    summary: "May requests be sent here? Tells dependencies apart",
    tag: "operations",
    rate: "none",
    isEssential: true,
    errors: [],
    query: "ignored",
    success: { status: 200, description: "Ready", schema: ReadinessSchema, example: ready },
    alternatives: [
      {
        status: 503,
        description: "A required dependency is down, or the process is about to end",
        schema: ReadinessSchema,
        example: unavailable,
      },
    ],
    async handler() {
      const state = await readiness();
      const isReady = state.status === "ready" || state.status === "degraded";
      return isReady ? state : new HttpReply(503, JSON.stringify(state));
    },
  });
}

/** @param document the rendered OpenAPI document, asked for once, when first wanted */
export function createOpenApiRoute(document: () => string): PublicRoute {
  let reply: HttpReply | null = null;
  return publicRoute({
    method: "GET",
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "This description, as OpenAPI 3.1",
    tag: "operations",
    rate: "client",
    errors: [],
    query: "ignored",
    success: {
      status: 200,
      description: "The OpenAPI document",
      schema: named(
        "OpenApiDocument",
        v.looseObject({ openapi: v.pipe(v.string(), v.description("The version of the format.")) }),
      ),
    },
    handler() {
      reply ??= new HttpReply(200, Buffer.from(document()), {
        headers: { "Cache-Control": "public, max-age=300" },
      });
      return reply;
    },
  });
}
