import type { ParsedAddress } from "../../../verification/address/address.ts";
import { type DomainName, nextMemoNumber } from "../../../verification/address/domain.ts";
import type { Evidence } from "../../../verification/evidence.ts";
import type { AddressQuestion } from "../answer/address-question.ts";
import { answerWithoutLookup, type NoLookupDeps } from "../answer/examine.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";

/** Few names are roles, and all of them could be used once. */
const ROLES_KEPT = 32;

/** The lists' answer for a domain, under a number that is stored at its name. */
interface ListFacts {
  number: number;
  /** Evidence of rows by role; the same object for all domains with the same answer of the lists. */
  byRole: Map<string | null, Evidence>;
}

/**
 * Caches `answerWithoutLookup` for rows of lists. Rows of a blocked domain come in thousands, and looking each one up in
 * the lists cost 3 us a row. Lists never change and have few different answers, so a domain stores only the number of its
 * answer.
 */
export interface NoLookupRows {
  find(question: AddressQuestion): ReturnType<typeof answerWithoutLookup>;
}

export function createNoLookupRows(deps: NoLookupDeps): NoLookupRows {
  /** By number. */
  const kept = new Map<number, ListFacts>();
  /** By the lists' answer, of which there are few. */
  const sayings = new Map<string, ListFacts>();

  function listFactsOf(name: DomainName, { disposable, freeProvider }: Evidence): ListFacts {
    const text = `${disposable.listed} ${freeProvider} ${disposable.source}`;
    const saying = sayings.get(text) ?? { number: nextMemoNumber(), byRole: new Map() };
    sayings.set(text, saying);
    kept.set(saying.number, saying);
    name.listsMemoNumber = saying.number;
    return saying;
  }

  function evidenceOf(question: AddressQuestion, { name, local }: ParsedAddress): Evidence | null {
    const role = deps.lists.role(local);
    const known = kept.get(name.listsMemoNumber);
    const found = known?.byRole.get(role);
    if (found !== undefined) return found;
    const evidence = answerWithoutLookup(deps, question).entry?.evidence ?? null;
    if (evidence === null) return null;
    const { byRole } = known ?? listFactsOf(name, evidence);
    const others = byRole.get(role);
    if (others !== undefined) return others;
    if (byRole.size < ROLES_KEPT) byRole.set(role, evidence);
    return evidence;
  }

  function entryOf(evidence: Evidence | null): CacheEntry | null {
    return evidence && { evidence, storedAt: deps.clock.now(), ttlS: 0 };
  }

  return {
    find(question) {
      const { address } = question;
      return { entry: entryOf(address === null ? null : evidenceOf(question, address)), cached: false };
    },
  };
}
