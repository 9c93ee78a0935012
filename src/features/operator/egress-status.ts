import { LIMITS } from "../../config/limits/limits.ts";
import type { BreakerNow } from "../../egress/breaker/open-breaker.ts";
import type { RouteReport, SelfCheckFinding } from "../../egress/self-check/report.ts";

/** A check of our sender identity on an egress route: see `npm run preflight`. */
type RouteFinding = Pick<SelfCheckFinding, "check" | "result" | "weight" | "seen" | "advice">;

interface RouteStatus {
  /** A source address, a proxy, or `direct`. */
  route: string;
  /** `down`: no mail server can be reached by it. */
  network: "up" | "down";
  /** `pending`: its first look has not ended. */
  state: "ok" | "failing" | "pending";
  /** The address that most mail servers see us come from; null: not known. */
  address: string | null;
  checked_at: string | null;
  findings: RouteFinding[];
}

interface BreakerStatus {
  site: string;
  provider: string | null;
  route: string;
  /** The only domain of the site that is left alone; null: all of the site. */
  domain: string | null;
  open_since: string;
  next_trial_at: string;
  /** The server's reply, redacted. "": another process received it. */
  reply: string;
}

/** The answering process's view of its egress: breakers of all processes of the egress, the rest its own. */
export interface EgressStatus {
  egress: string;
  routes: RouteStatus[];
  /** The longest open first, at most LIMITS.operator.listed. */
  breakers: BreakerStatus[];
  breakers_open: number;
  /** At most LIMITS.operator.listed. */
  reduced_sites: { site: string; connections: number }[];
  sites_reduced: number;
}

/** The same, as its parts tell it. */
export interface EgressParts {
  egress: string;
  /** Routes that were looked at, and the names of those that were not. */
  selfCheck: { ways: readonly (RouteReport & { network: "up" | "down" })[]; pending: readonly string[] };
  /** The longest open first. */
  breakers: readonly BreakerNow[];
  reduced: readonly { site: string; connections: number }[];
}

function findingOf({ check, result, weight, seen, advice }: SelfCheckFinding): RouteFinding {
  return { check, result, weight, seen, advice };
}

function routesOf({ ways, pending }: EgressParts["selfCheck"]): RouteStatus[] {
  const looked = ways.map(({ way: route, network, state, address, checkedAt, findings }) => ({
    ...{ route, network, state, address, checked_at: checkedAt, findings: findings.map(findingOf) },
  }));
  const waiting = pending.map((route) => ({
    ...{ route, network: "up", state: "pending", address: null, checked_at: null, findings: [] },
  }));
  return [...looked, ...(waiting as RouteStatus[])];
}

function breakerStatus({ way, openForMs, dueInMs, reply }: BreakerNow, nowMs: number): BreakerStatus {
  return {
    site: way.site,
    provider: way.provider,
    route: way.path,
    domain: way.domain === "" ? null : way.domain,
    open_since: new Date(nowMs - openForMs).toISOString(),
    next_trial_at: new Date(nowMs + Math.max(0, dueInMs)).toISOString(),
    reply,
  };
}

/** @param nowMs epoch milliseconds */
export function egressStatus(
  { egress, selfCheck, breakers, reduced }: EgressParts,
  nowMs: number,
): EgressStatus {
  const { listed } = LIMITS.operator;
  return {
    egress,
    routes: routesOf(selfCheck),
    breakers: breakers.slice(0, listed).map((breaker) => breakerStatus(breaker, nowMs)),
    breakers_open: breakers.length,
    reduced_sites: reduced.slice(0, listed),
    sites_reduced: reduced.length,
  };
}
