import { LIMITS } from "../config/limits/limits.ts";
import type { SiteQueues } from "../egress/site-queues.ts";
import type { RcptCaller, SessionTimes } from "../smtp/session/rcpt-job.ts";
import type { RcptOutcome } from "../smtp/wire/outcome.ts";
import type { Classification } from "../verification/classify/classify.ts";
import { evidenceOfFacts } from "../verification/evidence/model.ts";
import type { Evidence, SmtpEvidence } from "../verification/evidence.ts";
import type { ReplyEvidence } from "../verification/reply-readings.ts";
import type { CheckCaller } from "./caller.ts";
import {
  asUnverifiable,
  type ConcludeDeps,
  concludeProbe,
  cutOffEvidence,
  type ProbeConclusion,
  unaskedEvidence,
} from "./conclude.ts";
import type { DomainPlan } from "./domain-plan.ts";
import type { FastRoute } from "./fast-route.ts";
import { mailboxOf, type ProbeResult, type ProbeTarget, runGuardedProbe } from "./guarded-probe.ts";
import type { MxAnswer } from "./mx.ts";
import { type Exchanger, markCutOff, mayTryNext, type ProbeControl, type ProbeRoute } from "./probe.ts";
import { ProbeGuards } from "./probe-guards.ts";

export interface ProbeRowDeps extends ConcludeDeps {
  lines: SiteQueues;
  onProbe(provider: string | null, outcome: SmtpEvidence["class"]): void;
}

/** @param domain the address's */
export function localPartOf(address: string, { domain }: Pick<DomainPlan, "domain">): string {
  return address.slice(0, address.length - domain.length - 1);
}

/**
 * One address to probe, once its domain is known, in one of two states:
 *
 * - *first attempt*: nothing is unusual. The row queues at the best exchanger. If the answer is about the recipient, only
 *   counters change: no promise, no other host, no guard of a breaker.
 * - *full*: every other course, and rows that were unusual from the start. `runGuardedProbe` tries addresses and hosts in
 *   order; the outcome of the first attempt is the first of its attempts.
 *
 * In both states `concludeProbe` interprets the outcome. A property test starts the same rows in either state
 * (test/unit/engine/probe-row.test.ts).
 *
 * One object is the target, the pool's caller and the probe's control: thousands of rows wait in a thread, and the garbage
 * collector copies their objects for as long as they wait.
 */
export class ProbeRow implements RcptCaller, ProbeTarget, ProbeControl {
  readonly address: string;
  /** The best exchanger. */
  readonly first: Exchanger;
  /** See `ProbeControl`. A patient row's is infinite until a session takes it. */
  deadlineAt: number;
  readonly #deps: ProbeRowDeps;
  readonly #plan: DomainPlan;
  readonly #evidence: Evidence;
  readonly #caller: CheckCaller;
  /** State of the first attempt; null: the probe is in the full state. */
  #fastRoute: FastRoute | null = null;
  /** The site in whose queue the row is: it asks, or is about to ask. */
  #queuedAt: string | null = null;
  #inSession = false;
  #cutOff = false;

  /**
   * @param first the best exchanger
   * @param evidence evidence without a probe
   * @param sinceMs `Clock.monotonic` milliseconds at which the check began
   */
  constructor(
    deps: ProbeRowDeps,
    address: string,
    plan: DomainPlan,
    first: Exchanger,
    evidence: Evidence,
    caller: CheckCaller,
    sinceMs: number,
  ) {
    this.#deps = deps;
    this.#plan = plan;
    this.first = first;
    this.#evidence = evidence;
    this.#caller = caller;
    this.address = address;
    this.deadlineAt =
      caller.mode === "patient" ? Number.POSITIVE_INFINITY : sinceMs + LIMITS.smtp.probeBudgetMs;
  }

  get local(): string {
    return localPartOf(this.address, this.#plan);
  }

  get domain(): string {
    return this.#plan.domain;
  }

  get mx(): MxAnswer {
    return this.#plan.mx;
  }

  get route(): ProbeRoute {
    return this.#plan.route;
  }

  get urgent(): boolean {
    return false;
  }

  get isInteractive(): boolean {
    return this.#caller.mode === "single";
  }

  /** @param fastRoute a route for which `canProbeFast` is true; null: there is none */
  start(fastRoute: FastRoute | null): void {
    try {
      if (fastRoute === null) this.#reportLater(this.#probeUnlessKnown());
      else this.#startFirstAttempt(fastRoute);
    } catch (error) {
      this.#fail(error);
    }
  }

  #startFirstAttempt(fastRoute: FastRoute): void {
    this.#fastRoute = fastRoute;
    const mailbox = mailboxOf(this.address);
    this.#enter(this.first.site);
    this.#deps.pool.ask(fastRoute.destination, mailbox, this);
  }

  /** Asks the mail server, unless it is known beforehand that asking cannot tell. */
  async #probeUnlessKnown(): Promise<ProbeConclusion> {
    const { behaviours, network, shaping } = this.#deps;
    const { site, host, provider } = this.first;
    if (shaping.isUnverifiable(provider, site))
      return unaskedEvidence("provider_unverifiable", "their_server", "provider_habit");
    const doubt = behaviours.behaviourOf(site);
    if (doubt !== null && !behaviours.shouldExplore(site, this.domain))
      return asUnverifiable(unaskedEvidence("provider_unverifiable", "their_server", ""), `belief.${doubt}`);
    if (network.isDown()) {
      network.offerCandidate(site, host, this.address);
      return cutOffEvidence(this.#deps, "");
    }
    return this.#probeFully();
  }

  /** @param begun the outcome of the first attempt */
  async #probeFully(begun?: RcptOutcome): Promise<ProbeConclusion> {
    const { route, local } = this;
    const { mode, trace = null } = this.#caller;
    let asked: ProbeResult;
    try {
      const mayQueueAt = (exchanger: Exchanger) => this.#mayQueueAt(exchanger);
      const rest = begun === undefined ? {} : { begun };
      asked = await runGuardedProbe(this.#deps, this, {
        route,
        local,
        control: this,
        mayQueueAt,
        trace,
        ...rest,
      });
    } finally {
      this.#leave();
    }
    return concludeProbe(this.#deps, this, asked, { mode, probe: this });
  }

  /** Checked before the breaker: a row that leaves must not use up the trial of a half-open one. */
  #mayQueueAt({ site, policy }: Exchanger): boolean {
    if (site === this.#queuedAt) return true;
    this.#leave();
    this.#caller.onSite(site);
    const { lines, paths } = this.#deps;
    if (this.#caller.mode === "bulk" && lines.isLong(site, policy, paths.capCountOf(site))) return false;
    this.#enter(site);
    return true;
  }

  /** The first attempt is also given up when its route is cut off, for as long as no session has taken it. */
  cancelled(): boolean {
    if (!this.#inSession && !this.#cutOff && this.#fastRoute !== null)
      this.#cutOff = this.#deps.network.isCutOff(this.#fastRoute.destination.path.name);
    return this.#cutOff || this.#caller.cancelled();
  }

  onTaken(now: number, session?: SessionTimes): void {
    this.#inSession = true;
    this.#caller.trace?.onSession(now, session);
    if (this.#caller.mode !== "patient") return;
    this.deadlineAt = Math.min(this.deadlineAt, now + LIMITS.smtp.probeBudgetMs);
  }

  onSettled(outcome: RcptOutcome): void {
    this.#caller.trace?.onAttempt(outcome, this.first);
    try {
      const concluded = this.#conclude(outcome);
      const found = concluded === undefined ? this.#continueFully(outcome) : concluded;
      if (found instanceof Promise) this.#reportLater(found);
      else this.#report(found);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** undefined: it is unusual. */
  #conclude(outcome: RcptOutcome): ProbeConclusion | Promise<ProbeConclusion> | undefined {
    const fastRoute = this.#fastRoute;
    if (fastRoute === null || outcome.kind === "failure" || mayTryNext(outcome)) return undefined;
    const { breaker, network, self } = this.#deps;
    const { site, provider } = this.first;
    const context = { provider, self: self.at(outcome.path) };
    const { ruling, said } = fastRoute.readings.read(outcome, context, this);
    if (ruling.class === "sender_blocked" || !breaker.isClear(site, outcome.path, this.domain))
      return undefined;
    network.onAttempt(fastRoute.target, outcome);
    this.#leave();
    const asked = new FastProbeResult(outcome, fastRoute, { ruling, said }, this);
    return concludeProbe(this.#deps, this, asked, { mode: this.#caller.mode, probe: this });
  }

  #continueFully(outcome: RcptOutcome): Promise<ProbeConclusion> {
    const begun = markCutOff(outcome, this.#caller, this.#cutOff);
    this.#fastRoute = null;
    this.#cutOff = false;
    return this.#probeFully(begun);
  }

  guards(): ProbeGuards {
    return new ProbeGuards(this.#deps.breaker, this.domain, this.route.exchangers);
  }

  #enter(site: string): void {
    this.#deps.lines.enter(site);
    this.#queuedAt = site;
  }

  #leave(): void {
    if (this.#queuedAt !== null) this.#deps.lines.leave(this.#queuedAt);
    this.#queuedAt = null;
  }

  #reportLater(found: Promise<ProbeConclusion>): void {
    found.then(
      (late) => this.#report(late),
      (error: unknown) => this.#fail(error),
    );
  }

  /** Reports the evidence, with the server's answer about the address. */
  #report(smtp: ProbeConclusion): void {
    if (smtp === null || smtp === "busy") {
      this.#caller.onChecked(smtp);
      return;
    }
    const first = this.first;
    const isFirst = smtp.mxHost === first.host;
    const asked = isFirst ? first : this.route.exchangers.find(({ host }) => host === smtp.mxHost);
    this.#deps.onProbe((asked ?? first).provider, smtp.class);
    const known = this.#evidence;
    this.#caller.onChecked(evidenceOfFacts(known.facts, known.role, smtp));
  }

  #fail(error: unknown): void {
    this.#leave();
    this.#caller.onError(error);
  }
}

/**
 * True of a row that would only wait in a long queue at a site where nothing is unusual: it leaves before anything is
 * allocated for it, as nearly all rows of a list that is sorted by domain do.
 */
export function isQueueFull(
  deps: Pick<ProbeRowDeps, "lines">,
  { site, policy }: Pick<Exchanger, "site" | "policy">,
  { mode }: Pick<CheckCaller, "mode">,
): boolean {
  return mode === "bulk" && deps.lines.isLong(site, policy);
}

/**
 * True when a probe by `fastRoute` has nothing unusual: no learned behaviour of the site, no breaker, no network that is
 * down. Breakers are checked again with the reply.
 */
export function canProbeFast(
  deps: ProbeRowDeps,
  { domain }: Pick<DomainPlan, "domain">,
  site: string,
  fastRoute: FastRoute,
): boolean {
  const path = fastRoute.destination.path.name;
  if (deps.network.isDown() || deps.network.isCutOff(path)) return false;
  return deps.behaviours.behaviourOf(site) === null && deps.breaker.isClear(site, path, domain);
}

/** Result of the first attempt. */
class FastProbeResult implements ProbeResult {
  readonly outcome: RcptOutcome;
  readonly fastRoute: FastRoute;
  readonly ruling: Classification;
  readonly said: ReplyEvidence | null;
  readonly #row: ProbeRow;
  #guards: ProbeGuards | null = null;

  constructor(
    outcome: RcptOutcome,
    fastRoute: FastRoute,
    { ruling, said }: { ruling: Classification; said: ReplyEvidence | null },
    row: ProbeRow,
  ) {
    this.outcome = outcome;
    this.fastRoute = fastRoute;
    this.ruling = ruling;
    this.said = said;
    this.#row = row;
  }

  get exchanger(): Exchanger {
    return this.#row.first;
  }

  /** Rarely needed. */
  get guards(): ProbeGuards {
    this.#guards ??= this.#row.guards();
    return this.#guards;
  }
}
