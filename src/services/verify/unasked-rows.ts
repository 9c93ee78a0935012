import type { ParsedAddress } from "../../check/address.ts";
import type { Evidence } from "../../check/evidence.ts";
import { LIMITS } from "../../core/limits.ts";
import { RecentMap } from "../../core/recent-map.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import { type UnaskedDeps, withoutAsking } from "./examine.ts";
import type { Question } from "./question.ts";

/** Few names are roles, and all of them could be used once. */
const ROLES_KEPT = 32;

/** Evidence of rows by their role; the same object for all domains of which the lists say the same. */
type ByRole = Map<string | null, Evidence>;

/**
 * What `withoutAsking` finds, of rows of lists: those of a blocked domain come in thousands, and to look each time into the
 * lists for the domain cost 3 us a row. Lists never change, and say few things: what is kept of a domain is which of them, so that
 * there is room for all domains of a long list.
 */
export function createUnaskedRows(
  deps: UnaskedDeps,
): (question: Question) => ReturnType<typeof withoutAsking> {
  /** By domain, the very string that parseDomain remembers: no copy, and found without a look at its letters. */
  const known = new RecentMap<string, ByRole>(LIMITS.check.domainNames);
  /** By what the lists say, which have few sources. */
  const sayings = new Map<string, ByRole>();

  function sayingOf(domain: string, { disposable, freeProvider }: Evidence): ByRole {
    const saying = `${disposable.listed} ${freeProvider} ${disposable.source}`;
    const byRole = sayings.get(saying) ?? new Map<string | null, Evidence>();
    sayings.set(saying, byRole);
    // A longer name is a piece of its chunk, and would keep all of that.
    if (domain.length <= LIMITS.check.domainNameChars) known.set(domain, byRole);
    return byRole;
  }

  function evidenceOf(question: Question, { domain, local }: ParsedAddress): Evidence | null {
    const role = deps.lists.role(local);
    const found = known.get(domain)?.get(role);
    if (found !== undefined) return found;
    const evidence = withoutAsking(deps, question).entry?.evidence ?? null;
    if (evidence === null) return null;
    const byRole = known.get(domain) ?? sayingOf(domain, evidence);
    const others = byRole.get(role);
    if (others !== undefined) return others;
    if (byRole.size < ROLES_KEPT) byRole.set(role, evidence);
    return evidence;
  }

  return (question) => {
    const { address } = question;
    const evidence = address === null ? null : evidenceOf(question, address);
    const entry: CacheEntry | null = evidence && { evidence, storedAt: deps.clock.now(), ttlS: 0 };
    return { entry, cached: false };
  };
}
