import { LIMITS } from "../config/limits/limits.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { Shaping } from "../egress/shaping.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { EgressRoutes } from "../smtp/wire/egress-routes.ts";
import { catchAllKey } from "../verification/catch-all.ts";
import { type DomainFacts, evidenceOfFacts, factsOf } from "../verification/evidence/model.ts";
import type { DomainEvidence, Evidence, EvidenceParts, MxEvidence } from "../verification/evidence.ts";
import type { Lists } from "../verification/lists/lists.ts";
import { findDisposable } from "../verification/lists/mx-hosts.ts";
import type { SiteDirectory } from "../verification/lists/site.ts";
import { ReplyReadings } from "../verification/reply-readings.ts";
import { lookUpExchangers } from "./exchanger-proof.ts";
import type { FastRoute } from "./fast-route.ts";
import { exchangersOf } from "./guarded-probe.ts";
import { lookUpHostAddresses, type MxAnswer } from "./mx.ts";
import type { Exchanger, ProbeRoute } from "./probe.ts";

/** All that is the same for every address of a domain, so that one more costs a look-up instead of a walk. */
export interface DomainPlan {
  readonly domain: string;
  readonly mx: MxAnswer;
  readonly route: ProbeRoute;
  /** The best exchanger; undefined: no server needs to be asked. */
  readonly first: Exchanger | undefined;
  /**
   * Evidence of an address without its server's answer: one object for all addresses of a role. Callers must not change it.
   * @param domain the evidence's, if it is known
   */
  unprobed(role: string | null, domain?: DomainEvidence): Evidence;
  /** null: each probe has to find its route by itself. */
  fastRoute(): FastRoute | null | Promise<FastRoute | null>;
}

export interface DomainPlansDeps {
  clock: Clock;
  resolver: Resolver;
  paths: EgressRoutes;
  lists: Lists;
  shaping: Shaping;
  sites: SiteDirectory;
}

class Plan implements DomainPlan {
  readonly domain: string;
  readonly mx: MxAnswer;
  readonly route: ProbeRoute;
  readonly first: Exchanger | undefined;
  readonly #deps: DomainPlansDeps;
  readonly #known: Pick<EvidenceParts, "mx" | "disposable" | "freeProvider">;
  #facts: DomainFacts | null = null;
  /** The signals that `#facts` have. */
  #asked: DomainEvidence | undefined = undefined;
  #fastRoute: FastRoute | null | Promise<FastRoute | null> | undefined;

  constructor(deps: DomainPlansDeps, domain: string, mx: MxAnswer) {
    this.#deps = deps;
    this.domain = domain;
    this.mx = mx;
    const exchangers = exchangersOf(deps, mx.hosts, domain);
    const [first] = exchangers;
    this.route = { exchangers, published: mx.status === "ok" };
    const disposable = findDisposable(deps.lists, domain, mx.hosts);
    const reachable = mx.status === "ok" || mx.status === "implicit";
    this.first = reachable && !disposable.listed ? first : undefined;
    const freeProvider = deps.lists.isFree(domain);
    this.#known = { mx: mxEvidence(mx, first?.provider ?? null), disposable, freeProvider };
  }

  unprobed(role: string | null, domain?: DomainEvidence): Evidence {
    if (this.#facts === null || this.#asked !== domain) {
      this.#facts = factsOf(this.#known, domain);
      this.#asked = domain;
    }
    return evidenceOfFacts(this.#facts, role, null);
  }

  fastRoute(): FastRoute | null | Promise<FastRoute | null> {
    if (this.#fastRoute !== undefined) return this.#fastRoute;
    const fastRoute = this.#findFastRoute();
    this.#fastRoute = fastRoute;
    fastRoute.then(
      (found) => {
        this.#fastRoute = found;
      },
      () => {
        this.#fastRoute = undefined;
      },
    );
    return fastRoute;
  }

  async #findFastRoute(): Promise<FastRoute | null> {
    const { shaping, paths, resolver } = this.#deps;
    const { first, route, domain } = this;
    if (first === undefined || shaping.isUnverifiable(first.provider, first.site)) return null;
    // With several egress routes the recipient decides which one is taken.
    if (paths.capCountOf(first.site) > 1) return null;
    const [address] = await lookUpHostAddresses(resolver, first.host);
    const path = address === undefined ? undefined : paths.routeTo(first.site, address);
    if (address === undefined || path === undefined) return null;
    const { site, host, policy } = first;
    const { published } = route;
    const destination = { site, cap: paths.capOf(site, path), host, address, path, policy, published };
    return {
      destination,
      catchAllKey: catchAllKey(domain, site, host),
      catchAll: undefined,
      target: { site, provider: first.provider, published },
      readings: new ReplyReadings(),
    };
  }
}

function mxEvidence(mx: MxAnswer, provider: string | null): MxEvidence {
  const hosts = mx.hosts.slice(0, LIMITS.check.mxHostsReported);
  const preferences = mx.preferences.slice(0, LIMITS.check.mxHostsReported);
  // The TTL counts down, so that each answer would give the domain's evidence new facts. Where there are hosts, the probe's
  // result decides the lifetime.
  const ttlS = hosts.length === 0 || mx.status === "mx_unresolvable" ? mx.ttlS : 0;
  return { status: mx.status, hosts, preferences, provider, ttlS, fault: mx.fault };
}

/**
 * The plans of the domains that are being checked. A plan is valid for `LIMITS.check.planKeptMs`, then made again from the
 * resolver's cache: so short that a TTL is exceeded by no more than that.
 */
export class DomainPlans {
  readonly #deps: DomainPlansDeps;
  /** The longest made first. */
  readonly #plans = new Map<string, { plan: Plan; until: number }>();
  readonly #making = new Map<string, Promise<Plan>>();

  constructor(deps: DomainPlansDeps) {
    this.#deps = deps;
  }

  /** Number of cached plans. */
  get size(): number {
    return this.#plans.size;
  }

  /** @throws AppError `overloaded`, as `lookUpMx` */
  of(domain: string, now: number): DomainPlan | Promise<DomainPlan> {
    const known = this.#plans.get(domain);
    if (known !== undefined && now < known.until) return known.plan;
    const making = this.#making.get(domain) ?? this.#make(domain);
    this.#making.set(domain, making);
    return making;
  }

  async #make(domain: string): Promise<Plan> {
    try {
      const { clock, resolver } = this.#deps;
      const mx = await lookUpExchangers(resolver, domain);
      const plan = new Plan(this.#deps, domain, mx);
      this.#plans.delete(domain);
      this.#forgetExpired(clock.monotonic());
      // A failed look-up is asked again each time.
      if (mx.status !== "dns_error")
        this.#plans.set(domain, { plan, until: clock.monotonic() + LIMITS.check.planKeptMs });
      if (this.#plans.size > LIMITS.check.plans) this.#forgetOldest();
      return plan;
    } finally {
      this.#making.delete(domain);
    }
  }

  /** Removes an expired plan with the replies of its fast route: a thread keeps the plans of a few seconds. */
  #forgetExpired(now: number): void {
    for (const [domain, { until }] of this.#plans) {
      if (now < until) return;
      this.#plans.delete(domain);
    }
  }

  #forgetOldest(): void {
    for (const oldest of this.#plans.keys()) {
      this.#plans.delete(oldest);
      return;
    }
  }
}
