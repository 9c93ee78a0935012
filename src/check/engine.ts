import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { RcptOutcome } from "../smtp/outcome.ts";
import { type Asked, ask, type Target } from "./asking.ts";
import { type ConcludeDeps, conclude, cutOff, disbelieved, type Found, unasked } from "./conclude.ts";
import { type DomainPlan, DomainPlans, type UsualWay } from "./domain-plan.ts";
import type { CheckMode, DomainEvidence, Evidence, Scope, SmtpEvidence } from "./evidence.ts";
import type { Lists } from "./lists/lists.ts";
import type { MxAnswer } from "./mx.ts";
import type { Exchanger, ProbeControl, ProbeRoute } from "./probe.ts";
import { isUsual, type QuickCheck, QuickProbe } from "./quick-probe.ts";
import type { SiteLines } from "./site-lines.ts";

export type { House } from "./conclude.ts";

/** What a check brings: the evidence; null: nobody waits any more; `busy`: see `CheckEngine`. */
export type Checked = Evidence | "busy" | null;

/**
 * The product on one page: what can be learnt about one address, in the order in which it is cheap to learn.
 * Format was checked before (`parseAddress`), verdicts are drawn later (`decide`); here is only evidence.
 */
export interface CheckEngine {
  /**
   * Never rejects for the network's sake, but `overloaded`.
   * @param address normalised `local@domain` from `parseAddress`
   * @returns the evidence, at once where nobody has to be asked; null when `cancelled` said that nobody waits any more;
   *   `busy`, never in the mode `single`, when its site could not be asked without a long wait. Nobody may change it:
   *   addresses share it, or parts of it.
   * @param domain what the evidence is to say of the domain, where that is known
   */
  check(
    address: string,
    scope: Scope,
    control: CheckControl,
    domain?: DomainEvidence,
  ): Checked | Promise<Checked>;
}

export interface CheckControl {
  mode: CheckMode;
  cancelled(): boolean;
  /** Told each site before it is asked. */
  onSite(site: string): void;
}

export interface EngineDeps extends ConcludeDeps {
  lines: SiteLines;
  lists: Lists;
  onProbe(provider: string | null, outcome: SmtpEvidence["class"]): void;
}

export function createEngine(deps: EngineDeps): CheckEngine {
  const plans = new DomainPlans(deps);
  return {
    check(address, scope, control, domain) {
      const at = address.lastIndexOf("@");
      const sinceMs = deps.clock.monotonic();
      const plan = plans.of(address.slice(at + 1), sinceMs);
      const question = { local: address.slice(0, at), scope, control, domain, sinceMs };
      if (plan instanceof Promise) return plan.then((known) => checkBy(deps, known, question));
      return checkBy(deps, plan, question);
    },
  };
}

interface Question {
  local: string;
  scope: Scope;
  control: CheckControl;
  domain: DomainEvidence | undefined;
  /** `Clock.monotonic` milliseconds at which the check began. */
  sinceMs: number;
}

function checkBy(deps: EngineDeps, plan: DomainPlan, question: Question): Checked | Promise<Checked> {
  const { local, scope, control, domain } = question;
  const { first } = plan;
  const evidence = plan.unprobed(deps.lists.role(local), domain);
  if (scope === "unprobed" || first === undefined) return evidence;
  control.onSite(first.site);
  if (control.cancelled()) return null;
  const row = new Row(deps, plan, first, evidence, question);
  const way = plan.usualWay();
  return way instanceof Promise ? way.then((known) => row.goBy(known)) : row.goBy(way);
}

/** One address that is to be asked about, from when its domain is known. One object for all that it needs to be. */
class Row implements Target, QuickCheck {
  readonly address: string;
  readonly local: string;
  readonly domain: string;
  readonly mx: MxAnswer;
  readonly route: ProbeRoute;
  readonly first: Exchanger;
  readonly control: CheckControl;
  readonly mode: CheckMode;
  readonly deadlineAt: number;
  readonly #deps: EngineDeps;
  readonly #evidence: Evidence;
  #resolve: ((checked: Checked) => void) | null = null;
  #reject: ((error: unknown) => void) | null = null;

  constructor(
    deps: EngineDeps,
    plan: DomainPlan,
    first: Exchanger,
    evidence: Evidence,
    { local, control, sinceMs }: Question,
  ) {
    this.#deps = deps;
    this.#evidence = evidence;
    this.address = `${local}@${plan.domain}`;
    this.local = local;
    this.domain = plan.domain;
    this.mx = plan.mx;
    this.route = plan.route;
    this.first = first;
    this.control = control;
    this.mode = control.mode;
    // A patient one's time begins when its turn has come, since until then it waited for us.
    this.deadlineAt =
      this.mode === "patient" ? Number.POSITIVE_INFINITY : sinceMs + LIMITS.smtp.probeBudgetMs;
  }

  /** In the quick way where all is usual, else in the general one. */
  goBy(way: UsualWay | null): Checked | Promise<Checked> {
    const deps = this.#deps;
    if (way === null || !isUsual(deps, this, way)) return this.#goAtLength();
    const { site, policy } = this.first;
    this.control.onSite(site);
    if (this.mode === "bulk" && deps.lines.isLong(site, policy)) return "busy";
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      new QuickProbe(deps, this, way).begin();
    });
  }

  async #goAtLength(): Promise<Checked> {
    const { mode } = this;
    const probe = probeControl(this.#deps.clock, this);
    const onSite = (site: string) => this.control.onSite(site);
    return this.#whole(await probeTarget(this.#deps, this, this.first, { mode, onSite, probe }));
  }

  cancelled(): boolean {
    return this.control.cancelled();
  }

  async goOn(begun: RcptOutcome, probe: ProbeControl): Promise<Found> {
    const { mode } = this;
    const onSite = (site: string) => this.control.onSite(site);
    const manner = { mode, onSite, probe };
    return conclude(this.#deps, this, await probeInLine(this.#deps, this, manner, begun), manner);
  }

  done(found: Found): void {
    this.#resolve?.(this.#whole(found));
  }

  failed(error: unknown): void {
    this.#reject?.(error);
  }

  /** The evidence, with what the server said of the address. */
  #whole(smtp: Found): Checked {
    if (smtp === null || smtp === "busy") return smtp;
    const { exchangers } = this.route;
    const isFirst = smtp.mxHost === this.first.host;
    const asked = isFirst ? this.first : exchangers.find(({ host }) => host === smtp.mxHost);
    this.#deps.onProbe((asked ?? this.first).provider, smtp.class);
    const { v, mx, disposable, role, freeProvider, domain } = this.#evidence;
    if (domain === undefined) return { v, mx, disposable, role, freeProvider, smtp };
    return { v, mx, disposable, role, freeProvider, smtp, domain };
  }
}

/** A patient check's time begins with its turn, each other's with itself. */
function probeControl(clock: Clock, row: Row): ProbeControl {
  let { deadlineAt } = row;
  return {
    cancelled: () => row.cancelled(),
    get deadlineAt() {
      return deadlineAt;
    },
    onTurn() {
      if (row.mode === "patient")
        deadlineAt = Math.min(deadlineAt, clock.monotonic() + LIMITS.smtp.probeBudgetMs);
    },
  };
}

/** Asks the mail server, unless it is known beforehand that asking cannot tell, or would take a long wait. */
async function probeTarget(
  deps: EngineDeps,
  target: Target,
  first: Exchanger,
  manner: Manner,
): Promise<Found> {
  if (deps.shaping.cannotBeBelieved(first.provider, first.site))
    return unasked("provider_unverifiable", "their_server", "provider_habit");
  const doubt = deps.beliefs.habitOf(first.site);
  if (doubt !== null && !deps.beliefs.explores(first.site, target.domain))
    return disbelieved(unasked("provider_unverifiable", "their_server", ""), `belief.${doubt}`);
  const known = withoutAsking(deps, target, first);
  if (known) return known;
  return conclude(deps, target, await probeInLine(deps, target, manner), manner);
}

interface Manner extends Pick<CheckControl, "mode" | "onSite"> {
  probe: ProbeControl;
}

/**
 * It stands in the line of the site that it is asking, or about to ask.
 * @param begun the end of its first attempt, at the best exchanger, in whose line it stands already
 */
async function probeInLine(
  deps: EngineDeps,
  target: Target,
  { mode, onSite, probe }: Manner,
  begun?: RcptOutcome,
): Promise<Asked> {
  const [best] = target.route.exchangers;
  let line: string | null = begun === undefined ? null : (best?.site ?? null);
  const leave = () => line !== null && deps.lines.leave(line);
  /** Before the breaker: a half-open one must not be asked by whoever then leaves. */
  function turnTo({ site, policy }: Exchanger): boolean {
    if (site === line) return true;
    leave();
    line = null;
    onSite(site);
    if (mode === "bulk" && deps.lines.isLong(site, policy, deps.paths.capsOf(site))) return false;
    deps.lines.enter(site);
    line = site;
    return true;
  }
  const { route, local } = target;
  try {
    return await ask(deps, target, { route, local, control: probe, turnTo, ...(begun && { begun }) });
  } finally {
    leave();
  }
}

function withoutAsking(
  deps: EngineDeps,
  { address }: Target,
  { site, host }: Exchanger,
): SmtpEvidence | null {
  if (!deps.network.isDown()) return null;
  deps.network.offer(site, host, address);
  return cutOff(deps, "");
}
