/** The scope of a breaker: a site over one route, or one customer's domain at a provider over one route. */
export interface BreakerScope {
  site: string;
  /** Name of the egress route. */
  path: string;
  /** "": all of the site. */
  domain: string;
  /** Provider of the site; null: no named provider. */
  provider: string | null;
}

/** The key of a breaker. */
export function breakerKey(site: string, path: string, domain = ""): string {
  return domain === "" ? `${site} ${path}` : `${site} ${path} ${domain}`;
}

export function keyOfScope({ site, path, domain }: BreakerScope): string {
  return breakerKey(site, path, domain);
}
