import type { TeamOverlay } from "./actor.ts";

const NOTHING: TeamOverlay = { isBlocked: () => false };

/**
 * The team's blocklist as one question. Look-ups walk the labels of the domain, so they cost its depth (127 at most),
 * not the length of the list.
 *
 * @param entries domains as A-labels, lower case, without trailing dot.
 */
export function createOverlay(entries: { domain: string; includeSubdomains: boolean }[]): TeamOverlay {
  if (entries.length === 0) return NOTHING;
  const blocked = new Map(entries.map((entry) => [entry.domain, entry.includeSubdomains]));
  return {
    isBlocked(domain) {
      if (blocked.has(domain)) return true;
      for (let dot = domain.indexOf("."); dot !== -1; dot = domain.indexOf(".", dot + 1)) {
        if (blocked.get(domain.slice(dot + 1)) === true) return true;
      }
      return false;
    },
  };
}
