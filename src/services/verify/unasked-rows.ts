import type { ParsedAddress } from "../../check/address.ts";
import type { Evidence } from "../../check/evidence.ts";
import type { CacheEntry } from "../../store/cache-entry.ts";
import { type Question, type UnaskedDeps, withoutAsking } from "./examine.ts";

/** Domains of which it is kept. Emptied when full: a bound, not a policy. */
const DOMAINS_KEPT = 1_024;
/** Few names are roles, and all of them could be used once. */
const ROLES_KEPT = 32;

/**
 * What `withoutAsking` finds, of rows of lists: those of a blocked domain come in thousands, and to look each time into the
 * lists for the domain cost 3 us a row. Evidence is the same object for all of a domain and a role; lists never change.
 */
export function createUnaskedRows(
  deps: UnaskedDeps,
): (question: Question) => ReturnType<typeof withoutAsking> {
  const known = new Map<string, Map<string | null, Evidence>>();

  function evidenceOf(question: Question, { domain, local }: ParsedAddress): Evidence | null {
    const role = deps.lists.role(local);
    const found = known.get(domain)?.get(role);
    if (found !== undefined) return found;
    const evidence = withoutAsking(deps, question).entry?.evidence ?? null;
    if (evidence === null) return null;
    if (known.size >= DOMAINS_KEPT) known.clear();
    const ofDomain = known.get(domain) ?? new Map<string | null, Evidence>();
    if (ofDomain.size < ROLES_KEPT) known.set(ownCopy(domain), ofDomain.set(role, evidence));
    return evidence;
  }

  return (question) => {
    const { address } = question;
    const evidence = address === null ? null : evidenceOf(question, address);
    const entry: CacheEntry | null = evidence && { evidence, storedAt: deps.clock.now(), ttlS: 0 };
    return { entry, cached: false };
  };
}

/** A string of its own: what is cut out of another keeps all of that. */
const ownCopy = (text: string) => Buffer.from(text, "latin1").toString("latin1");
