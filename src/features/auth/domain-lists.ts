import { LIMITS } from "../../config/limits/limits.ts";
import { nearestIn } from "../../verification/lists/domain-set.ts";
import type { TeamOverlay } from "../identity/actor.ts";
import type { TeamDomains } from "./team-domains.ts";

/**
 * A team's blocklist and merged overrides as questions. Look-ups walk the labels of the domain, so they cost its depth (127
 * at most), not the length of the list. All domains as A-labels, lower case, without trailing dot.
 */
export class DomainLists implements TeamOverlay {
  readonly #blocked = new Map<string, boolean>();
  /** Each domain covers its subdomains too. */
  readonly #disposable = new Set<string>();

  isBlocked(domain: string): boolean {
    const blocked = this.#blocked;
    if (blocked.size === 0) return false;
    if (blocked.has(domain)) return true;
    for (let dot = domain.indexOf("."); dot !== -1; dot = domain.indexOf(".", dot + 1)) {
      if (blocked.get(domain.slice(dot + 1)) === true) return true;
    }
    return false;
  }

  isDisposable(domain: string): boolean {
    return nearestIn(domain, this.#disposable) !== null;
  }

  /** Domains on both lists. */
  get size(): number {
    return this.#blocked.size + this.#disposable.size;
  }

  remove(domains: Iterable<string>): void {
    for (const domain of domains) {
      this.#blocked.delete(domain);
      this.#disposable.delete(domain);
    }
  }

  /** Adds no more than a team may have, in case more were stored by hand. */
  add({ blocklist, disposable }: TeamDomains): void {
    for (const { domain, includeSubdomains } of blocklist)
      if (this.#blocked.size < LIMITS.keys.blocklistEntriesPerTeam)
        this.#blocked.set(domain, includeSubdomains);
    for (const domain of disposable)
      if (this.#disposable.size < LIMITS.overrides.perTeam) this.#disposable.add(domain);
  }
}
