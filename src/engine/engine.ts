import { domainOf } from "../verification/address/domain-of.ts";
import type { CheckMode, DomainEvidence, Evidence, Scope } from "../verification/evidence.ts";
import type { CheckCaller, CheckControl, EngineResult } from "./caller.ts";
import type { DomainPlan } from "./domain-plan.ts";
import { DomainPlans, type DomainPlansDeps } from "./domain-plan.ts";
import type { FastRoute } from "./fast-route.ts";
import type { Exchanger } from "./probe.ts";
import { canProbeFast, isQueueFull, localPartOf, ProbeRow, type ProbeRowDeps } from "./probe-row.ts";

export type { CheckControl } from "./caller.ts";
export type { RouteTrust } from "./conclude.ts";

/**
 * The product on one page: what can be learnt about one address, in the order in which it is cheap to learn.
 * Format was checked before (`parseAddress`), verdicts are drawn later (`decide`); here is only evidence.
 */
export interface CheckEngine {
  /**
   * Never rejects because of the network; rejects with `overloaded`.
   * @param address normalised `local@domain` from `parseAddress`
   * @returns the evidence, at once where no server has to be asked; null when `cancelled` returned true; `busy`, never in
   *   the mode `single`, when its site could not be asked without a long wait. Callers must not change it: addresses share
   *   it, or parts of it.
   * @param domain what the evidence is to say of the domain, where that is known
   */
  check(
    address: string,
    scope: Scope,
    control: CheckControl,
    domain?: DomainEvidence,
  ): EngineResult | Promise<EngineResult>;
  /** The same without a promise: calls `caller` back, possibly before this returns. */
  submit(address: string, scope: Scope, caller: CheckCaller, domain?: DomainEvidence): void;
}

export interface EngineDeps extends ProbeRowDeps, DomainPlansDeps {}

export function createEngine(deps: EngineDeps): CheckEngine {
  const plans = new DomainPlans(deps);
  const unplanned: WaitingForPlan = new WaitingRows(({ address, scope, caller, domain, sinceMs }, plan) =>
    checkByPlan(deps, waitingForRoute, plan, address, scope, caller, domain, sinceMs),
  );
  const waitingForRoute: WaitingForRoute = new WaitingRows(
    ({ address, caller, domain, sinceMs, plan, first }, fastRoute) =>
      startProbe(deps, plan, first, fastRoute, address, caller, domain, sinceMs),
  );
  function ask(address: string, scope: Scope, caller: CheckCaller, domain?: DomainEvidence): void {
    const sinceMs = deps.clock.monotonic();
    const plan = plans.of(domainOf(address), sinceMs);
    if (plan instanceof Promise) unplanned.join(plan, { address, scope, caller, domain, sinceMs });
    else checkByPlan(deps, waitingForRoute, plan, address, scope, caller, domain, sinceMs);
  }
  return {
    submit: ask,
    check: promiseCheck(ask),
  };
}

interface WaitingRow {
  address: string;
  caller: CheckCaller;
  domain: DomainEvidence | undefined;
  sinceMs: number;
}

/** Rows whose domain's plan is being made. */
type WaitingForPlan = WaitingRows<WaitingRow & { scope: Scope }, DomainPlan>;
/** Rows of a plan whose fast route is being found. */
type WaitingForRoute = WaitingRows<WaitingRow & { plan: DomainPlan; first: Exchanger }, FastRoute | null>;

/**
 * Rows that wait for the same promise: they resume one after the other when it resolves. A chunk of a list that is sorted
 * by domain has hundreds of rows of a domain that is not known yet. With promises of its own each row cost more than all
 * other work on a row that is then turned away.
 */
class WaitingRows<R extends { caller: CheckCaller }, T> {
  readonly #resume: (row: R, found: T) => void;
  readonly #queues = new WeakMap<Promise<T>, R[]>();

  /** @param goOn what it throws breaks that row alone */
  constructor(goOn: (row: R, found: T) => void) {
    this.#resume = goOn;
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
        for (const row of queue) this.#resumeRow(row, found);
      },
      (error: unknown) => {
        this.#queues.delete(awaited);
        for (const { caller } of queue) caller.onError(error);
      },
    );
  }

  #resumeRow(row: R, found: T): void {
    try {
      this.#resume(row, found);
    } catch (error) {
      row.caller.onError(error);
    }
  }
}

/**
 * Parameters where an object would be made and thrown away for each row.
 * @param sinceMs `Clock.monotonic` milliseconds at which the check began
 */
function checkByPlan(
  deps: EngineDeps,
  waitingForRoute: WaitingForRoute,
  plan: DomainPlan,
  address: string,
  scope: Scope,
  caller: CheckCaller,
  domain: DomainEvidence | undefined,
  sinceMs: number,
): void {
  caller.trace?.onPlanned();
  const { first } = plan;
  if (scope === "unprobed" || first === undefined) {
    caller.onChecked(unprobed(deps, plan, address, domain));
    return;
  }
  caller.onSite(first.site);
  if (caller.cancelled()) {
    caller.onChecked(null);
    return;
  }
  const fastRoute = plan.fastRoute();
  if (fastRoute instanceof Promise)
    waitingForRoute.join(fastRoute, { address, caller, domain, sinceMs, plan, first });
  else startProbe(deps, plan, first, fastRoute, address, caller, domain, sinceMs);
}

function unprobed(
  { lists }: Pick<EngineDeps, "lists">,
  plan: DomainPlan,
  address: string,
  domain: DomainEvidence | undefined,
): Evidence {
  return plan.unprobed(lists.role(localPartOf(address, plan)), domain);
}

function startProbe(
  deps: EngineDeps,
  plan: DomainPlan,
  first: Exchanger,
  fastRoute: FastRoute | null,
  address: string,
  caller: CheckCaller,
  domain: DomainEvidence | undefined,
  sinceMs: number,
): void {
  caller.trace?.onPlanned();
  const usual = fastRoute !== null && canProbeFast(deps, plan, first.site, fastRoute) ? fastRoute : null;
  if (usual !== null && isQueueFull(deps, first, caller)) {
    caller.onChecked("busy");
    return;
  }
  const row = new ProbeRow(
    deps,
    address,
    plan,
    first,
    unprobed(deps, plan, address, domain),
    caller,
    sinceMs,
  );
  row.start(usual);
}

/** Makes `check` out of `submit`. @returns a `check` that returns at once what is known at once */
export function promiseCheck(ask: CheckEngine["submit"]): CheckEngine["check"] {
  return (address, scope, control, domain) => {
    const caller = new PromisedCheck(control);
    ask(address, scope, caller, domain);
    return caller.result();
  };
}

/** The caller of a check whose answer is returned or awaited. */
class PromisedCheck implements CheckCaller {
  readonly #control: CheckControl;
  #settled: { found: EngineResult } | { error: unknown } | null = null;
  #resolve: ((found: EngineResult) => void) | null = null;
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

  onChecked(found: EngineResult): void {
    if (this.#resolve === null) this.#settled ??= { found };
    else this.#resolve(found);
  }

  onError(error: unknown): void {
    if (this.#reject === null) this.#settled ??= { error };
    else this.#reject(error);
  }

  /** @throws what the check broke with at once */
  result(): EngineResult | Promise<EngineResult> {
    const end = this.#settled;
    if (end !== null && "error" in end) throw end.error;
    if (end !== null) return end.found;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
}
