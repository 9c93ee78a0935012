import type { CheckCaller, CheckControl, Checked } from "./caller.ts";
import { domainOf } from "./domain-of.ts";
import type { DomainPlan } from "./domain-plan.ts";
import { DomainPlans, type DomainPlansDeps } from "./domain-plan.ts";
import type { CheckMode, DomainEvidence, Scope } from "./evidence.ts";
import { localOf, Row, type RowDeps } from "./row.ts";

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
}

export interface EngineDeps extends RowDeps, DomainPlansDeps {}

export function createEngine(deps: EngineDeps): CheckEngine {
  const plans = new DomainPlans(deps);
  function ask(address: string, scope: Scope, caller: CheckCaller, domain?: DomainEvidence): void {
    const sinceMs = deps.clock.monotonic();
    const plan = plans.of(domainOf(address), sinceMs);
    if (!(plan instanceof Promise)) askBy(deps, plan, address, scope, caller, domain, sinceMs);
    else
      plan
        .then((known) => askBy(deps, known, address, scope, caller, domain, sinceMs))
        .catch((error: unknown) => caller.broke(error));
  }
  return { ask, check: checkBy(ask) };
}

/**
 * Parameters where an object would be made and thrown away for each row.
 * @param sinceMs `Clock.monotonic` milliseconds at which the check began
 */
function askBy(
  deps: EngineDeps,
  plan: DomainPlan,
  address: string,
  scope: Scope,
  caller: CheckCaller,
  domain: DomainEvidence | undefined,
  sinceMs: number,
): void {
  caller.trace?.planned();
  const evidence = plan.unprobed(deps.lists.role(localOf(address, plan)), domain);
  if (scope === "unprobed" || plan.first === undefined) {
    caller.checked(evidence);
    return;
  }
  caller.onSite(plan.first.site);
  if (caller.cancelled()) {
    caller.checked(null);
    return;
  }
  const row = new Row(deps, address, plan, plan.first, evidence, caller, sinceMs);
  const way = plan.usualWay();
  if (!(way instanceof Promise)) row.goBy(way);
  else way.then((known) => row.goBy(known)).catch((error: unknown) => caller.broke(error));
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
