import { getDomain } from "tldts";
import { DISPOSABLE_SOURCES, type SharedLists } from "./compile.ts";
import { openTable } from "./hash-table.ts";
import { roleOf } from "./roles.ts";
import { NEVER_DISPOSABLE } from "./trusted.ts";

export { loadLists } from "./built.ts";
export { compileLists, type SharedLists } from "./compile.ts";

/** Facts about a domain or a local part that need no server. Domains in A-labels, lower case. */
export interface Lists {
  /**
   * Whether the domain, or a parent of it up to the registrable domain, is on a list of disposable ones. Never true
   * for a public suffix, or through one: `dynu.net` on a list says nothing of `home.dynu.net`.
   */
  disposable(domain: string): { listed: boolean; source: string };
  /** The role that a local part names, e.g. `postmaster`; null for a person's. See `roleOf`. */
  role(local: string): string | null;
  /** A mailbox provider that is open to the public. */
  isFree(domain: string): boolean;
}

const NOT_LISTED = { listed: false, source: "none" } as const;

/** Opens compiled lists in this thread; they share the memory of all others. */
export function openLists(compiled: SharedLists): Lists {
  const disposableLabel = openTable(compiled.disposable);
  const roleLabel = openTable(compiled.role);
  const freeLabel = openTable(compiled.free);
  return {
    disposable(domain) {
      const registrable = getDomain(domain, { allowPrivateDomains: true });
      if (registrable === null) return NOT_LISTED;
      for (let name = domain; name.length >= registrable.length; name = name.slice(name.indexOf(".") + 1)) {
        if (NEVER_DISPOSABLE.has(name)) return NOT_LISTED;
        const label = disposableLabel(name);
        if (label > 0) return { listed: true, source: DISPOSABLE_SOURCES[label - 1] ?? "unknown" };
      }
      return NOT_LISTED;
    },
    role: (local) => roleOf(local, (name) => roleLabel(name) > 0),
    isFree: (domain) => freeLabel(domain) > 0,
  };
}
