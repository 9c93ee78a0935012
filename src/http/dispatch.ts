import { AppError } from "../core/errors.ts";
import { type Actor, ROLES } from "../services/actor.ts";
import { type MaybePromise, then } from "./maybe-promise.ts";
import type { Reply } from "./reply.ts";
import type { HttpRequest } from "./request.ts";
import type { RateLimitFields } from "./respond.ts";
import type { Route, TeamRoute } from "./route.ts";

export interface Gate {
  /**
   * Whose credential this is.
   * @param authorization the header as sent, "" when absent
   * @throws AppError `unauthorized`
   */
  authenticate(authorization: string): MaybePromise<Actor>;
  rateLimit: {
    /** Takes one request from the actor's rate limit. @throws AppError `rate_limited` */
    take(actor: Actor): MaybePromise<void>;
  };
  /** What every answer to the actor says of its limits; null: nothing. */
  rateLimitHeaders(actor: Actor): RateLimitFields | null;
}

function requireRole(route: TeamRoute, actor: Actor): void {
  if (ROLES.indexOf(actor.role) >= ROLES.indexOf(route.access.role)) return;
  throw new AppError("insufficient_role", `This needs the role ${route.access.role}; you are ${actor.role}.`);
}

/**
 * Serves a matched request: authenticate, role, rate limit, validate, handle, in this order, so that a stranger learns
 * nothing of the input's validity and an exhausted limit costs no work. Synchronous when every step is.
 */
export function dispatch(gate: Gate, route: Route, request: HttpRequest): MaybePromise<Reply> {
  if (route.access === "public") return route.invoke(request);
  return then(gate.authenticate(request.headers.authorization ?? ""), (actor) => {
    request.actor = actor;
    requireRole(route, actor);
    if (!route.rateLimited) return route.invoke(request, actor);
    return then(gate.rateLimit.take(actor), () => route.invoke(request, actor));
  });
}
