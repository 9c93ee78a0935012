import { createMailWorld, type MailWorld } from "../../../test/support/mail-world/world.ts";
import type { ZoneEntry } from "../../../test/support/mail-world/zone.ts";

/** Number of sites, with one mail server each, and of the domains that have their mail there. */
export const SITES = 6;
export const DOMAINS = 48;

/** Host of a site. Each is below another registrable name: all hosts below one name count as one site, with one cap. */
export const siteName = (site: number) => `mx.chaos${site}.test`;
export const domainName = (domain: number) => `d${domain}.chaos.test`;

export function domainEntry(domain: number): ZoneEntry {
  return { mx: [[10, siteName(domain % SITES)]] };
}

/**
 * The mail world plus our sites, whose servers are made to fail; the rest of the world does not change. Our sites offer
 * STARTTLS, as nearly all real servers do.
 */
export async function createSiteWorld(): Promise<MailWorld> {
  const hosts = Array.from({ length: SITES }, (_, site) => ({
    name: siteName(site),
    starttls: "works" as const,
  }));
  const world = await createMailWorld({ hosts });
  for (let domain = 0; domain < DOMAINS; domain++) world.dns.set(domainName(domain), domainEntry(domain));
  return world;
}
