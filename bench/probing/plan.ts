/** The addresses that a run asks about, their mail servers, and the expected answers. Pure: every process computes the same. */

/** Sites, hence MX hosts; each may be held at 10 connections, the default of `src/egress/shaping.json`. */
export const SITES = 20;
export const CONNECTIONS_PER_SITE = 10;
export const CONNECTIONS = SITES * CONNECTIONS_PER_SITE;
/**
 * Domains of a run, spread over the sites. A run of the engine has domains of its own, so that no run uses another's
 * facts.
 */
export const DOMAINS = 200;
/** Every n-th address does not exist. */
const MISSING_EVERY = 10;

export interface PlannedAddress {
  address: string;
  site: number;
  exists: boolean;
}

export function siteOfDomain(domain: number): number {
  return domain % SITES;
}

export function domainName(run: number, domain: number): string {
  return `d${domain}.r${run}.test`;
}

/**
 * Exchanger of a site. Each has a registrable name of its own, so that sites have different owners.
 * @param world has sites of its own; clients of one world do not meet those of another
 */
export function mxName(site: number, world = 0): string {
  return world === 0 ? `mx.site${site}.test` : `mx.site${site}w${world}.test`;
}

export function mxAddress(site: number, world = 0): string {
  return `127.0.${3 + world}.${site + 1}`;
}

/** The first `count` addresses of run `run` that exist. */
export function existing(run: number, count: number): string[] {
  // One in MISSING_EVERY is missing, hence fewer than half.
  return planRun(run, 2 * count)
    .filter(({ exists }) => exists)
    .slice(0, count)
    .map(({ address }) => address);
}

/** The addresses of run `run`: consecutive ones go to different domains, and hence to different sites. */
export function planRun(run: number, count: number, domains = DOMAINS): PlannedAddress[] {
  return Array.from({ length: count }, (_, i) => {
    const domain = i % domains;
    // A site's domains have their missing ones by turns, so that it is not asked about many in a row.
    const turn = Math.floor(i / domains) + Math.floor(domain / SITES);
    const exists = turn % MISSING_EVERY !== MISSING_EVERY - 1;
    const local = `${exists ? "user" : "nobody"}${i}`;
    return { address: `${local}@${domainName(run, domain)}`, site: siteOfDomain(domain), exists };
  });
}

/** A domain with its own exchanger, hence a site of its own, which is unknown at first. */
export function loneDomain(index: number): string {
  return `lone${index}.test`;
}

/** @param index below 62 500 */
export function loneAddress(index: number): string {
  return `127.1.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}
