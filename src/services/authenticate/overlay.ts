import { nearestIn } from "../../check/lists/domain-set.ts";
import type { TeamOverlay } from "../actor.ts";

const NOTHING: TeamOverlay = { isBlocked: () => false, isDisposable: () => false };

interface TeamDomains {
  blocklist: readonly { domain: string; includeSubdomains: boolean }[];
  /** Merged disposable overrides; each stands for what is below it too. */
  disposable: readonly string[];
}

/**
 * The team's blocklist and overrides as questions. Look-ups walk the labels of the domain, so they cost its depth (127
 * at most), not the length of the list. All domains as A-labels, lower case, without trailing dot.
 */
export function createOverlay({ blocklist, disposable }: TeamDomains): TeamOverlay {
  if (blocklist.length === 0 && disposable.length === 0) return NOTHING;
  const blocked = new Map(blocklist.map((entry) => [entry.domain, entry.includeSubdomains]));
  const overridden = new Set(disposable);
  return {
    isBlocked(domain) {
      if (blocked.has(domain)) return true;
      for (let dot = domain.indexOf("."); dot !== -1; dot = domain.indexOf(".", dot + 1)) {
        if (blocked.get(domain.slice(dot + 1)) === true) return true;
      }
      return false;
    },
    isDisposable: (domain) => nearestIn(domain, overridden) !== null,
  };
}
