import { LIMITS } from "../core/limits.ts";
import type { RcptOutcome } from "../smtp/outcome.ts";
import type { RcptCaller, SessionTimes } from "../smtp/rcpt-job.ts";
import { type Manner, type ProbingDeps, probeInLine, probeTarget } from "./at-length.ts";
import type { CheckCaller } from "./caller.ts";
import type { Classification } from "./classify/classify.ts";
import { concludeProbe, type ProbeConclusion } from "./conclude.ts";
import type { DomainPlan } from "./domain-plan.ts";
import { evidenceOfFacts } from "./evidence/model.ts";
import type { Evidence, SmtpEvidence } from "./evidence.ts";
import { mailboxOf, type ProbeResult, type ProbeTarget } from "./guarded-probe.ts";
import type { MxAnswer } from "./mx.ts";
import { type Exchanger, markCutOff, mayTryNext, type ProbeControl, type ProbeRoute } from "./probe.ts";
import type { ReplyEvidence } from "./reply-readings.ts";
import { Tour } from "./tour.ts";
import type { UsualWay } from "./usual-way.ts";

export interface ProbeRowDeps extends ProbingDeps {
  onProbe(provider: string | null, outcome: SmtpEvidence["class"]): void;
}

/** @param domain the address's */
export function localPartOf(address: string, { domain }: Pick<DomainPlan, "domain">): string {
  return address.slice(0, address.length - domain.length - 1);
}

/** The check's own, without what concerns the quick attempt alone. */
class ProbeRowControl implements ProbeControl {
  readonly #row: ProbeRow;
  readonly #caller: CheckCaller;

  constructor(row: ProbeRow, caller: CheckCaller) {
    this.#row = row;
    this.#caller = caller;
  }

  cancelled(): boolean {
    return this.#caller.cancelled();
  }

  get deadlineAt(): number {
    return this.#row.deadlineAt;
  }

  get isInteractive(): boolean {
    return this.#caller.mode === "single";
  }

  onTaken(now: number, session?: SessionTimes): void {
    this.#row.onTaken(now, session);
  }
}

/**
 * One address that is to be asked about, from when its domain is known. It goes the quick way as long as all is usual: it
 * takes its turn at the best exchanger, is answered about the recipient, and nobody has to hear of it but counters: no
 * promise, no walk over hosts, no visit of a breaker. Whatever else happens is left to the general way, which goes on
 * where this one stands (`probeMailbox`, `begun`); what a reply means is `conclude`'s for both. A property test holds the
 * two to each other (test/unit/check/probe-row.test.ts).
 *
 * It is one object for all that a probe needs to be: thousands wait in a thread, and what they are made of is copied by
 * the garbage collector for as long as they do.
 */
export class ProbeRow implements RcptCaller, ProbeTarget {
  readonly address: string;
  /** The best exchanger. */
  readonly first: Exchanger;
  /** As of `Asker`; of a patient one infinite, its time begins with its turn. */
  deadlineAt: number;
  readonly #deps: ProbeRowDeps;
  readonly #plan: DomainPlan;
  readonly #evidence: Evidence;
  readonly #caller: CheckCaller;
  #way: UsualWay | null = null;
  #isQueued = false;
  #inSession = false;
  #cutOff = false;

  /**
   * @param first the best exchanger, to which the usual way leads
   * @param evidence what is known without a probe
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

  /** In the quick way. */
  startFastProbe(way: UsualWay): void {
    const { lines, pool } = this.#deps;
    this.#way = way;
    try {
      const mailbox = mailboxOf(this.address);
      lines.enter(this.first.site);
      this.#isQueued = true;
      pool.ask(way.destination, mailbox, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** In the general one. */
  startFullProbe(): void {
    const manner = this.#manner(new ProbeRowControl(this, this.#caller));
    this.#reportLater(probeTarget(this.#deps, this, this.first, manner));
  }

  /** Given up also when nothing leaves by the way any more, for as long as no session has taken it up. */
  cancelled(): boolean {
    if (!this.#inSession && !this.#cutOff && this.#way !== null)
      this.#cutOff = this.#deps.network.isCutOff(this.#way.destination.path.name);
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
      const found = concluded === undefined ? this.#continueInFull(outcome) : concluded;
      if (found instanceof Promise) this.#reportLater(found);
      else this.#report(found);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** undefined: it is unusual. */
  #conclude(outcome: RcptOutcome): ProbeConclusion | Promise<ProbeConclusion> | undefined {
    const way = this.#way;
    if (way === null || outcome.kind === "failure" || mayTryNext(outcome)) return undefined;
    const { breaker, network, self } = this.#deps;
    const { site, provider } = this.first;
    const context = { provider, self: self.at(outcome.path) };
    const { ruling, said } = way.heard.read(outcome, context, this);
    if (ruling.class === "sender_blocked" || !breaker.isClear(site, outcome.path, this.domain))
      return undefined;
    network.onAttempt(way.target, outcome);
    this.#leave();
    const asked = new FastProbeResult(outcome, way, { ruling, said }, this);
    return concludeProbe(this.#deps, this, asked, { mode: this.#caller.mode, probe: this });
  }

  #continueInFull(outcome: RcptOutcome): Promise<ProbeConclusion> {
    this.#isQueued = false;
    const probe = new ProbeRowControl(this, this.#caller);
    const begun = markCutOff(outcome, probe, this.#cutOff);
    return probeInLine(this.#deps, this, this.#manner(probe), begun);
  }

  #manner(probe: ProbeControl): Manner {
    const caller = this.#caller;
    return { mode: caller.mode, onSite: (site) => caller.onSite(site), probe, trace: caller.trace ?? null };
  }

  tour(): Tour {
    return new Tour(this.#deps.breaker, this.domain, this.route.exchangers);
  }

  #leave(): void {
    if (this.#isQueued) this.#deps.lines.leave(this.first.site);
    this.#isQueued = false;
  }

  #reportLater(found: Promise<ProbeConclusion>): void {
    found.then(
      (late) => this.#report(late),
      (error: unknown) => this.#fail(error),
    );
  }

  /** The evidence, with what the server said of the address. */
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
 * Who can go the quick way, as free as `canProbeFast` wants it, and would only stand in line there, leaves before anything is made for it:
 * of a list that is sorted by domain nearly all rows do.
 */
export function isQueueFull(
  deps: Pick<ProbeRowDeps, "lines">,
  { site, policy }: Pick<Exchanger, "site" | "policy">,
  { mode }: Pick<CheckCaller, "mode">,
): boolean {
  return mode === "bulk" && deps.lines.isLong(site, policy);
}

/**
 * Whether the way is free of all that makes a probe unusual: doubts about the site, a breaker, a network that is down.
 * Breakers are asked again when the reply is there.
 */
export function canProbeFast(
  deps: ProbeRowDeps,
  { domain }: Pick<DomainPlan, "domain">,
  site: string,
  way: UsualWay,
): boolean {
  const path = way.destination.path.name;
  if (deps.network.isDown() || deps.network.isCutOff(path)) return false;
  return deps.behaviours.behaviourOf(site) === null && deps.breaker.isClear(site, path, domain);
}

/** What a quick probe brought. */
class FastProbeResult implements ProbeResult {
  readonly outcome: RcptOutcome;
  readonly way: UsualWay;
  readonly ruling: Classification;
  readonly said: ReplyEvidence | null;
  readonly #row: ProbeRow;
  #tour: Tour | null = null;

  constructor(
    outcome: RcptOutcome,
    way: UsualWay,
    { ruling, said }: { ruling: Classification; said: ReplyEvidence | null },
    row: ProbeRow,
  ) {
    this.outcome = outcome;
    this.way = way;
    this.ruling = ruling;
    this.said = said;
    this.#row = row;
  }

  get exchanger(): Exchanger {
    return this.#row.first;
  }

  /** Hardly any needs it. */
  get tour(): Tour {
    this.#tour ??= this.#row.tour();
    return this.#tour;
  }
}
