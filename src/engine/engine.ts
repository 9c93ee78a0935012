import { domainOf } from "../verification/address/domain-of.ts";
import type { DomainEvidence, Evidence, Scope } from "../verification/evidence.ts";
import type { CheckCaller } from "./caller.ts";
import type { DomainPlan } from "./domain-plan.ts";
import { DomainPlans, type DomainPlansDeps } from "./domain-plan.ts";
import type { FastRoute } from "./fast-route.ts";
import type { Exchanger } from "./probe.ts";
import { canProbeFast, isQueueFull, localPartOf, ProbeRow, type ProbeRowDeps } from "./probe-row.ts";

export type { RouteTrust } from "./conclude.ts";

/**
 * The product on one page: what can be learnt about one address, in the order in which it is cheap to learn.
 * Format was checked before (`parseAddress`), verdicts are drawn later (`decide`); here is only evidence.
 */
export interface CheckEngine {
  /**
   * Calls `caller` back, possibly before this returns: with the evidence, at once where no server has to be asked; with null when
   * `cancelled` returned true; with `busy`, never in the mode `single`, when its site could not be asked without a long wait. Callers
   * must not change it: addresses share it, or parts of it. The network is no error; `overloaded` is.
   * @param address normalised `local@domain` from `parseAddress`
   * @param domain what the evidence is to say of the domain, where that is known
   */
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
  return {
    submit(address, scope, caller, domain) {
      const sinceMs = deps.clock.monotonic();
      const plan = plans.of(domainOf(address), sinceMs);
      if (plan instanceof Promise) unplanned.join(plan, { address, scope, caller, domain, sinceMs });
      else checkByPlan(deps, waitingForRoute, plan, address, scope, caller, domain, sinceMs);
    },
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
