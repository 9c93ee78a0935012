import type { CheckCaller, CheckControl, Checked } from "./caller.ts";
import { catchAllKey } from "./catch-all.ts";
import { domainOf } from "./domain-of.ts";
import type { DomainPlan } from "./domain-plan.ts";
import { DomainPlans, type DomainPlansDeps } from "./domain-plan.ts";
import type { CheckMode, DomainEvidence, Evidence, Scope } from "./evidence.ts";
import type { Exchanger } from "./probe.ts";
import { isTurnedAway, isUsual, localOf, Row, type RowDeps } from "./row.ts";
import type { UsualWay } from "./usual-way.ts";

export type { CheckControl } from "./caller.ts";
export type { House } from "./conclude.ts";

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
  /** The same without a promise: `caller` is told, also before this returns. */
  ask(address: string, scope: Scope, caller: CheckCaller, domain?: DomainEvidence): void;
  /**
   * The site whose line is all that a row of the domain has to wait for, and which is left at once where it is long; null: nobody is
   * asked about its rows, or something is unusual, so that they are to be asked about to know.
   * @throws AppError `overloaded`, as `ask`
   */
  lineOf(domain: string): Promise<string | null>;
}

export interface EngineDeps extends RowDeps, DomainPlansDeps {}

export function createEngine(deps: EngineDeps): CheckEngine {
  const plans = new DomainPlans(deps);
  const unplanned: Unplanned = new Queues(({ address, scope, caller, domain, sinceMs }, plan) =>
    askBy(deps, wayless, plan, address, scope, caller, domain, sinceMs),
  );
  const wayless: Wayless = new Queues(({ address, caller, domain, sinceMs, plan, first }, way) =>
    probeBy(deps, plan, first, way, address, caller, domain, sinceMs),
  );
  function ask(address: string, scope: Scope, caller: CheckCaller, domain?: DomainEvidence): void {
    const sinceMs = deps.clock.monotonic();
    const plan = plans.of(domainOf(address), sinceMs);
    if (plan instanceof Promise) unplanned.join(plan, { address, scope, caller, domain, sinceMs });
    else askBy(deps, wayless, plan, address, scope, caller, domain, sinceMs);
  }
  return { ask, check: checkBy(ask), lineOf: (domain) => lineOf(deps, plans, domain) };
}

async function lineOf(deps: EngineDeps, plans: DomainPlans, domain: string): Promise<string | null> {
  const plan = await plans.of(domain, deps.clock.monotonic());
  const { first } = plan;
  const way = first === undefined ? null : await plan.usualWay();
  if (first === undefined || way === null) return null;
  return isUsual(deps, plan, first.site, way) ? first.site : null;
}

interface WaitingRow {
  address: string;
  caller: CheckCaller;
  domain: DomainEvidence | undefined;
  sinceMs: number;
}

/** Rows whose domain's plan is being made. */
type Unplanned = Queues<WaitingRow & { scope: Scope }, DomainPlan>;
/** Rows of a plan whose usual way is being found. */
type Wayless = Queues<WaitingRow & { plan: DomainPlan; first: Exchanger }, UsualWay | null>;

/**
 * Rows that wait for the same: they go on one after the other when it is there. A chunk of a list that is sorted by domain has hundreds
 * of rows of a domain nobody knows yet, and each with promises of its own was more work than all else that is done for one which is
 * then turned away.
 */
class Queues<R extends { caller: CheckCaller }, T> {
  readonly #goOn: (row: R, found: T) => void;
  readonly #queues = new WeakMap<Promise<T>, R[]>();

  /** @param goOn what it throws breaks that row alone */
  constructor(goOn: (row: R, found: T) => void) {
    this.#goOn = goOn;
  }

  join(awaited: Promise<T>, row: R): void {
    const queue = this.#queues.get(awaited);
    if (queue !== undefined) queue.push(row);
    else this.#open(awaited, row);
  }

  #open(awaited: Promise<T>, first: R): void {
    const queue = [first];
    this.#queues.set(awaited, queue);
    awaited.then(
      (found) => {
        this.#queues.delete(awaited);
        for (const row of queue) this.#pass(row, found);
      },
      (error: unknown) => {
        this.#queues.delete(awaited);
        for (const { caller } of queue) caller.broke(error);
      },
    );
  }

  #pass(row: R, found: T): void {
    try {
      this.#goOn(row, found);
    } catch (error) {
      row.caller.broke(error);
    }
  }
}

/**
 * Parameters where an object would be made and thrown away for each row.
 * @param sinceMs `Clock.monotonic` milliseconds at which the check began
 */
function askBy(
  deps: EngineDeps,
  wayless: Wayless,
  plan: DomainPlan,
  address: string,
  scope: Scope,
  caller: CheckCaller,
  domain: DomainEvidence | undefined,
  sinceMs: number,
): void {
  caller.trace?.planned();
  const { first } = plan;
  if (scope === "unprobed" || first === undefined) {
    caller.checked(unprobed(deps, plan, address, domain));
    return;
  }
  caller.onSite(first.site);
  if (caller.cancelled()) {
    caller.checked(null);
    return;
  }
  if (caller.mode === "single" && !plan.isUnderWay) foresee(deps, plan, first);
  const way = plan.usualWay();
  if (way instanceof Promise) wayless.join(way, { address, caller, domain, sinceMs, plan, first });
  else probeBy(deps, plan, first, way, address, caller, domain, sinceMs);
}

/** Fetches the slot and the catch-all answer of a domain's first check while the address of its exchanger is looked up. For requests alone. */
function foresee({ facts, paths, pool }: EngineDeps, { domain }: DomainPlan, first: Exchanger): void {
  const { site, host, policy } = first;
  // With several caps it takes the address to know which.
  if (paths.capsOf(site) === 1) pool.foresee(site, policy.maxConnections);
  facts.foresee(catchAllKey(domain, site, host));
}

function unprobed(
  { lists }: Pick<EngineDeps, "lists">,
  plan: DomainPlan,
  address: string,
  domain: DomainEvidence | undefined,
): Evidence {
  return plan.unprobed(lists.role(localOf(address, plan)), domain);
}

/** By the usual way where all is usual, else in the general one. */
function probeBy(
  deps: EngineDeps,
  plan: DomainPlan,
  first: Exchanger,
  way: UsualWay | null,
  address: string,
  caller: CheckCaller,
  domain: DomainEvidence | undefined,
  sinceMs: number,
): void {
  caller.trace?.planned();
  const usual = way !== null && isUsual(deps, plan, first.site, way) ? way : null;
  if (usual !== null && isTurnedAway(deps, first, caller)) {
    caller.checked("busy");
    return;
  }
  const row = new Row(deps, address, plan, first, unprobed(deps, plan, address, domain), caller, sinceMs);
  if (usual === null) row.goAtLength();
  else row.enter(usual);
}

/** What an engine can do that tells whom it is asked by. @returns its `check`: at once what is known at once */
export function checkBy(ask: CheckEngine["ask"]): CheckEngine["check"] {
  return (address, scope, control, domain) => {
    const caller = new PromisedCheck(control);
    ask(address, scope, caller, domain);
    return caller.result();
  };
}

/** A check whose answer somebody waits for. */
class PromisedCheck implements CheckCaller {
  readonly #control: CheckControl;
  #end: { found: Checked } | { error: unknown } | null = null;
  #resolve: ((found: Checked) => void) | null = null;
  #reject: ((error: unknown) => void) | null = null;

  constructor(control: CheckControl) {
    this.#control = control;
  }

  get mode(): CheckMode {
    return this.#control.mode;
  }

  cancelled(): boolean {
    return this.#control.cancelled();
  }

  onSite(site: string): void {
    this.#control.onSite(site);
  }

  checked(found: Checked): void {
    if (this.#resolve === null) this.#end ??= { found };
    else this.#resolve(found);
  }

  broke(error: unknown): void {
    if (this.#reject === null) this.#end ??= { error };
    else this.#reject(error);
  }

  /** @throws what the check broke with at once */
  result(): Checked | Promise<Checked> {
    const end = this.#end;
    if (end !== null && "error" in end) throw end.error;
    if (end !== null) return end.found;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
}
