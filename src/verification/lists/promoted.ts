import { getDomain, parse } from "tldts";
import { nearestIn } from "./domain-set.ts";
import type { Lists } from "./lists.ts";
import { COMPANY_DOMAINS, isInstitutional } from "./owned.ts";
import { isProviderDomain } from "./site.ts";
import { NEVER_DISPOSABLE } from "./trusted.ts";

/**
 * True when one of the operator's promoted domains equals `domain` or is a parent of it, by the rules of the lists: never
 * through a public suffix, and never a trusted domain, whatever the table contains.
 */
export function isPromoted(domain: string, promoted: ReadonlySet<string>): boolean {
  const nearest = nearestIn(domain, promoted);
  if (nearest === null) return false;
  const registrable = getDomain(domain, { allowPrivateDomains: true });
  if (registrable === null || nearest.length < registrable.length) return false;
  return nearestIn(domain, NEVER_DISPOSABLE) === null && nearestIn(domain, COMPANY_DOMAINS) === null;
}

/**
 * The reason why a domain must not be called disposable for all teams, to follow its name; null: it may. It protects
 * mailbox providers with real users from what strangers submit.
 */
export function promotionRefusal(domain: string, lists: Pick<Lists, "isFree">): string | null {
  const { publicSuffix, domain: registrable } = parse(domain, { allowPrivateDomains: true });
  if (registrable === null || publicSuffix === domain) return "is a public suffix: strangers share it";
  if (isInstitutional(publicSuffix)) return "is a school's, an authority's or the military's";
  if (nearestIn(domain, COMPANY_DOMAINS) !== null) return "is a company's that everybody has mail of";
  for (let name = domain; name.length >= registrable.length; name = name.slice(name.indexOf(".") + 1)) {
    if (NEVER_DISPOSABLE.has(name)) return "is a mailbox provider's, a privacy relay's or an institution's";
    if (lists.isFree(name)) return "is a free-mail provider's";
  }
  for (const trusted of NEVER_DISPOSABLE)
    if (trusted.endsWith(`.${domain}`)) return `holds ${trusted}, which is trusted`;
  if (isProviderDomain(domain)) return "is of a provider that runs mail servers for others";
  return null;
}
