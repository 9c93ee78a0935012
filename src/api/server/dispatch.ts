import { insufficientRole, liveCredentialNeeded } from "../../features/auth/acting-member.ts";
import type { Caller } from "../../features/auth/client-charges.ts";
import type { Idempotency } from "../../features/idempotency/idempotency.ts";
import { type Actor, hasAtLeastRole, shareKey } from "../../features/identity/actor.ts";
import { requireFeature } from "../../features/identity/tier-features.ts";
import type { RateLimitState } from "../../features/quota/limits-view.ts";
import type { RateClass } from "../../features/rate-limit/classes.ts";
import { AppError } from "../../platform/errors.ts";
import { traceCall } from "../../platform/telemetry/tracing.ts";
import { discardBody } from "../body/body.ts";
import { problemReply } from "../reply/problem.ts";
import type { HttpReply } from "../reply/reply.ts";
import { andThen, type MaybePromise } from "../request/maybe-promise.ts";
import type { HttpRequest } from "../request/request.ts";
import { beginRequestSpan } from "../request/request-span.ts";
import { invokeOnce } from "../routing/idempotency.ts";
import { acceptsBody, type PublicRoute, type Route, type TeamRoute } from "../routing/route.ts";
import type { ReadTurns } from "./read-turns.ts";

export interface RequestGate {
  /**
   * The actor that a credential belongs to.
   * @param authorization the header as sent, "" when absent
   * @param caller the client that sent it, read only within this call; absent: the credential was accepted before
   * @throws AppError `unauthorized`; `rate_limited` when the caller's address has sent too many unknown credentials
   */
  authenticate(authorization: string, caller?: Caller): MaybePromise<Actor>;
  /** True for a credential that is in memory and good; looks none up. */
  isKnown(authorization: string): boolean;
  rateLimit: {
    /** Takes one request from the bucket that the actor's team has for the class. @throws AppError `rate_limited` */
    take(actor: Actor, rateClass: RateClass): MaybePromise<void>;
  };
  publicRate: {
    /** Takes one request from the rate of a client's address. @throws AppError `rate_limited` */
    take(address: string, nowMs: number): void;
  };
  idempotency: Idempotency;
  reads: ReadTurns;
  /** The limits of the request's class, for every answer to the actor; null: none are named. */
  limitsLeft(actor: Actor, rateClass: RateClass): RateLimitState | null;
  /** The rate of a client's address, for every answer of a route that it is taken from. */
  publicLimitsLeft(address: string, nowMs: number): RateLimitState;
}

/**
 * Waits for a body that the route does not take, once no check refuses the request. Otherwise a client without a credential
 * could hold a slot by announcing a body and sending nothing.
 */
function awaitUnwantedBody(route: Route, { incoming }: HttpRequest): MaybePromise<void> {
  return incoming === null || acceptsBody(route) ? undefined : discardBody(incoming);
}

/** null: the session of a browser's cookie has ended, which counts as no credential on a route that needs none. */
function authenticateIfGood(
  gate: RequestGate,
  request: HttpRequest,
  authorization: string,
): MaybePromise<Actor | null> {
  if (!request.isFromPortal) return gate.authenticate(authorization, request);
  const noActorIfEnded = (error: unknown): null => {
    if (error instanceof AppError && error.code === "unauthorized") return null;
    throw error;
  };
  try {
    const authenticated = gate.authenticate(authorization, request);
    return authenticated instanceof Promise ? authenticated.catch(noActorIfEnded) : authenticated;
  } catch (error) {
    return noActorIfEnded(error);
  }
}

function invokePublic(gate: RequestGate, route: PublicRoute, request: HttpRequest): MaybePromise<HttpReply> {
  // Health checks and preflights have no rate, except where they bring a body, which is waited for.
  const isCharged = route.rate === "client" || (request.incoming !== null && !acceptsBody(route));
  if (isCharged) gate.publicRate.take(request.clientAddress, request.startedMs);
  const { authorization } = request.headers;
  const invoke = () => andThen(awaitUnwantedBody(route, request), () => route.invoke(request));
  if (route.mayAuthenticate !== true || authorization === undefined) return invoke();
  const authenticated = authenticateIfGood(gate, request, authorization);
  return andThen(authenticated, (actor) => {
    if (actor !== null) attachActor(request, actor, authenticated instanceof Promise);
    return invoke();
  });
}

/** @param hasWaited whether authentication took a look-up */
function attachActor(request: HttpRequest, actor: Actor, hasWaited: boolean): void {
  request.actor = actor;
  beginRequestSpan(request, hasWaited);
}

function requireUser(route: TeamRoute, actor: Actor): void {
  if (route.needsUser !== true || actor.userId !== null) return;
  throw new AppError(
    "key_without_user",
    "The user of this key has left the team: it verifies and reads, nothing else.",
  );
}

/** Checks that need only the credential, in the order of the statuses: 403, then 402; 429 instead where the bucket is empty. */
function requirePermissions(route: TeamRoute, actor: Actor): void {
  const { role } = route.access;
  if (!hasAtLeastRole(actor.role, role)) throw insufficientRole(role, actor.role);
  if (route.liveOnly === true && !actor.livemode) throw liveCredentialNeeded();
  if (route.feature !== undefined) requireFeature(actor, route.feature);
}

function invoke(
  gate: RequestGate,
  route: TeamRoute,
  request: HttpRequest,
  actor: Actor,
): MaybePromise<HttpReply> {
  const key = route.idempotent === true ? request.headers["idempotency-key"] : undefined;
  if (key !== undefined)
    return invokeOnce(gate.idempotency, { route, request, actor, key }, () => route.invoke(request, actor));
  if (route.rate !== "read" || route.waitsElsewhere === true) return route.invoke(request, actor);
  return gate.reads.run(
    shareKey(actor),
    () => request.cancelled(),
    () => route.invoke(request, actor),
  );
}

/** Takes a token and waits for an unwanted body. A failure of either releases the request's slot. */
function takeToken(
  gate: RequestGate,
  route: TeamRoute,
  request: HttpRequest,
  actor: Actor,
): MaybePromise<void> {
  const { slot } = request;
  if (slot === null && request.incoming === null) return gate.rateLimit.take(actor, route.rate);
  const leave = (error: unknown): never => {
    slot?.release();
    throw error;
  };
  try {
    const taken = andThen(gate.rateLimit.take(actor, route.rate), () => awaitUnwantedBody(route, request));
    return taken instanceof Promise ? taken.catch(leave) : taken;
  } catch (error) {
    return leave(error);
  }
}

/** The sender is authenticated. @param hasWaited whether that took a look-up */
function admit(
  gate: RequestGate,
  route: TeamRoute,
  request: HttpRequest,
  actor: Actor,
  hasWaited: boolean,
): MaybePromise<HttpReply> {
  attachActor(request, actor, hasWaited);
  try {
    requireUser(route, actor);
    requirePermissions(route, actor);
  } catch (error) {
    // A refusal costs a token too; otherwise a client could repeat such requests without a limit.
    return andThen(gate.rateLimit.take(actor, route.rate), () => {
      throw error;
    });
  }
  const refusal = route.early === undefined ? null : route.early(request, actor);
  if (refusal !== null) return problemReply(refusal, request.id);
  const taken = takeToken(gate, route, request, actor);
  if (!(taken instanceof Promise)) return invoke(gate, route, request, actor);
  traceCall(request.span, "rate limit", taken);
  return taken.then(() => invoke(gate, route, request, actor));
}

/**
 * Serves a matched request: authenticate, role, tier, rate limit, then the body, idempotency key, validate, handle, in this
 * order. So a client without a credential does not learn whether its input is valid, and an exhausted limit costs little
 * work: the body of a request that is refused before it is not collected.
 *
 * Some routes do work before the token is taken (`early`), since taking it may have to wait. Their input is read there, but
 * its faults are reported in the order above. Synchronous when every step is: a promise or a continuation is created only
 * for a step that is awaited.
 */
export function dispatch(gate: RequestGate, route: Route, request: HttpRequest): MaybePromise<HttpReply> {
  if (route.access === "public") return invokePublic(gate, route, request);
  const authenticated = gate.authenticate(request.headers.authorization ?? "", request);
  if (!(authenticated instanceof Promise)) return admit(gate, route, request, authenticated, false);
  return authenticated.then((actor) => admit(gate, route, request, actor, true));
}
