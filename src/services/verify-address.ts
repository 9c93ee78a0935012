import { type ParsedAddress, parseAddress } from "../check/address.ts";
import type { Evidence, Scope } from "../check/evidence.ts";
import type { Lists } from "../check/lists/lists.ts";
import type { Reason } from "../check/verdict/table.ts";
import { type Decision, decide, isFree, lifetimeS } from "../check/verdict/verdict.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Metrics } from "../core/metrics.ts";
import type { CacheEntry, EvidenceCache } from "../store/evidence-cache.ts";
import type { Flights, FlightsDeps } from "./flights.ts";
import type { Quota, Reservation } from "./quota.ts";
import { renderResult } from "./render-result.ts";
import type { TestKeys } from "./test-keys.ts";
import type { VerificationResult } from "./verification-result.ts";
import type { VerifyContext, VerifyInput } from "./verify-input.ts";

/**
 * One address, answered. Synchronous when the answer is in memory and a unit of quota is leased: such a request
 * touches neither Redis nor Postgres nor another thread.
 * @throws AppError `unavailable_in_tier` (refresh), `quota_exceeded`, `overloaded`, `unavailable`
 */
export type VerifyAddress = (
  input: VerifyInput,
  context: VerifyContext,
) => VerificationResult | Promise<VerificationResult>;

export interface VerifyDeps {
  clock: Clock;
  cache: EvidenceCache;
  flights: Flights;
  lists: Lists;
  quota: Quota;
  testKeys: TestKeys;
  metrics: Metrics;
}

/** All that one request carries from step to step. */
interface Request {
  input: VerifyInput;
  context: VerifyContext;
  address: ParsedAddress | null;
  blocked: boolean;
  scope: Scope;
}

/** What was found, and where. `failure`: why there is no evidence. */
type Finding =
  | { entry: CacheEntry; cached: true; failure?: undefined }
  | { entry: CacheEntry; cached: false; failure?: undefined }
  | { entry: null; cached: false; failure?: "deadline" | "internal_error" };

export function createVerifyAddress(deps: VerifyDeps): VerifyAddress {
  return (input, context) => {
    const { actor } = context;
    if (input.refresh && !actor.limits.refresh) {
      throw new AppError(
        "unavailable_in_tier",
        `refresh needs the tier pro or above, the team has ${actor.tier}`,
      );
    }
    if (!actor.livemode) return deps.testKeys.answer(input, context);
    const request = understand(input, context);
    const reservation = deps.quota.reserve(actor);
    if (reservation instanceof Promise) return reservation.then((unit) => charged(deps, request, unit));
    return charged(deps, request, reservation);
  };
}

function understand(input: VerifyInput, context: VerifyContext): Request {
  const { actor } = context;
  const parsed = parseAddress(input.email);
  const address = parsed.ok ? parsed.address : null;
  const blocked = address !== null && actor.overlay.isBlocked(address.domain);
  return { input, context, address, blocked, scope: actor.limits.probing ? "probed" : "unprobed" };
}

/** Answers within a reservation, which is kept or given back whatever happens. */
function charged(deps: VerifyDeps, request: Request, reservation: Reservation) {
  try {
    const finding = find(deps, request);
    if (!(finding instanceof Promise)) return answer(deps, request, reservation, finding);
    return finding.then(
      (found) => answer(deps, request, reservation, found),
      (error: unknown) => {
        reservation.giveBack();
        throw error;
      },
    );
  } catch (error) {
    reservation.giveBack();
    throw error;
  }
}

function find(deps: VerifyDeps, request: Request): Finding | Promise<Finding> {
  if (request.address === null) return { entry: null, cached: false };
  if (request.blocked) return { entry: unasked(deps, request.address), cached: false };
  const { cacheKey } = request.address;
  if (!request.input.refresh) {
    const entry = deps.cache.peek(request.scope, cacheKey);
    deps.metrics.cacheLookups.inc({ result: entry ? "memory" : "miss" });
    if (entry) return { entry, cached: true };
  }
  return deps.flights.join(
    {
      teamId: request.context.actor.teamId,
      address: request.address,
      scope: request.scope,
      refresh: request.input.refresh,
    },
    request.context,
  );
}

/** A blocked domain is not asked about anywhere; what lists know costs nothing. */
function unasked(deps: VerifyDeps, address: ParsedAddress): CacheEntry {
  const evidence: Evidence = {
    v: 1,
    mx: { status: "skipped", hosts: [], provider: null, ttlS: 0, fault: null },
    disposable: deps.lists.disposable(address.domain),
    role: deps.lists.role(address.local),
    freeProvider: deps.lists.isFree(address.domain),
    smtp: null,
  };
  return { evidence, storedAt: deps.clock.now(), ttlS: 0 };
}

interface Answer {
  decision: Decision;
  result: VerificationResult;
}

/**
 * Answers drawn from cached evidence, kept with it: the same entry, asked again, is the same answer, and its JSON
 * need not be written again. An entry belongs to one scope, hence to one kind of tier; a blocked domain never gets here.
 */
const drawn = new WeakMap<CacheEntry, Answer>();

function answer(
  deps: VerifyDeps,
  request: Request,
  reservation: Reservation,
  finding: Finding,
): VerificationResult {
  const { decision, result } = drawFrom(deps, request, finding);
  if (request.context.cancelled()) {
    // Nobody is told, so nothing is counted.
    reservation.giveBack();
    return result;
  }
  if (isFree(decision.reason)) reservation.giveBack();
  else reservation.commit();
  deps.metrics.verifications.inc({
    verdict: decision.verdict,
    reason: decision.reason,
    cached: `${finding.cached}`,
  });
  return result;
}

function drawFrom(deps: VerifyDeps, request: Request, finding: Finding): Answer {
  if (!finding.cached || request.input.withEvidence) return draw(deps, request, finding);
  const known = drawn.get(finding.entry);
  if (known !== undefined) return known;
  const fresh = draw(deps, request, finding);
  drawn.set(finding.entry, fresh);
  return fresh;
}

function draw(deps: VerifyDeps, request: Request, finding: Finding): Answer {
  const { input, context, address } = request;
  const decision = decide({
    address,
    evidence: finding.entry?.evidence ?? null,
    failure: finding.failure ?? null,
    probing: context.actor.limits.probing,
    blocked: request.blocked,
  });
  const result = renderResult({
    email: address?.normalised ?? input.email,
    address,
    decision,
    entry: finding.entry,
    now: deps.clock.now(),
    cached: finding.cached,
    livemode: true,
    withEvidence: input.withEvidence,
  });
  return { decision, result };
}

/** Reasons that are true of one egress alone: what another address or network of ours would meet is not known. */
const OURS_ALONE: ReadonlySet<Reason> = new Set(["our_network", "sender_blocked"]);

const NOT_KEPT = { ttlS: 0, shared: false };

/**
 * How long finished checks are kept: by what they are answered with on a tier that sees all of their evidence. What
 * failed for reasons of our own stays in this process, and a bound that we ran into is not kept at all.
 */
export function createKeeping(overridesS: Partial<Record<Reason, number>>): FlightsDeps["keep"] {
  return (scope, address, evidence) => {
    const decision = decide({
      address,
      evidence,
      failure: null,
      probing: scope === "probed",
      blocked: false,
    });
    const { reason, fault } = decision;
    if (reason === "timeout" && fault === "our_network") return NOT_KEPT;
    // Accepted, but the stranger was never asked: a bound of ours, or a thread that went. The next one asks.
    if (evidence.smtp?.class === "accepted" && evidence.smtp.catchAll === "not_probed") return NOT_KEPT;
    const shared = !OURS_ALONE.has(reason) && fault !== "our_network";
    return { ttlS: lifetimeS(decision, evidence.mx.ttlS, overridesS), shared };
  };
}
