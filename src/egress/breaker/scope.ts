/** What a breaker is of: a site as it sees us on one way out, or at a provider's one customer's domain there. */
export interface BreakerScope {
  site: string;
  /** Name of the way out. */
  path: string;
  /** "": all of the site. */
  domain: string;
  /** Of the site; null: no named provider. */
  provider: string | null;
}

/** The key of a breaker. */
export function breakerKey(site: string, path: string, domain = ""): string {
  return domain === "" ? `${site} ${path}` : `${site} ${path} ${domain}`;
}

export function keyOfScope({ site, path, domain }: BreakerScope): string {
  return breakerKey(site, path, domain);
}
