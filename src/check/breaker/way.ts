/** What a breaker is of: a site as it sees us on one way out, or at a provider's one customer's domain there. */
export interface Way {
  site: string;
  /** Name of the way out. */
  path: string;
  /** "": all of the site. */
  domain: string;
  /** Of the site; null for everybody else's. */
  provider: string | null;
}

/** The key of a breaker. */
export function wayKey(site: string, path: string, domain = ""): string {
  return domain === "" ? `${site} ${path}` : `${site} ${path} ${domain}`;
}

export function keyOf({ site, path, domain }: Way): string {
  return wayKey(site, path, domain);
}
