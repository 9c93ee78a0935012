import type { Internet } from "../../../bench/sinks/mail.ts";
import type { Zone } from "../../../test/support/mail-world/zone.ts";
import type { SiteClass } from "../scenario.ts";

/**
 * A list whose rows are spread evenly over equal sites. Each site has domains of its own, some of them catch-all. Every
 * run has domains of its own, of which nothing is cached. Pure: every process computes the same list.
 */
export interface SiteList {
  run: number;
  rows: number;
  /** The formula's input about the sites. */
  site: Pick<SiteClass, "sites" | "rowsPerDomain">;
  /** Every n-th domain is catch-all; 0: none. */
  catchAllEvery: number;
  /** At other domains every n-th address does not exist. */
  missingEvery: number;
}

const CATCH_ALL = "any";
/** So that a piece of a chunk, which is cut by domain, does not consist of one site's rows. */
const DOMAINS_MAX = 20_000;

export const siteAddress = (site: number) => `127.0.6.${site + 1}`;
const siteHost = (site: number) => `mx.capacity${site}.test`;

interface PlacedRow {
  local: string;
  domain: string;
  site: number;
  verdict: "valid" | "invalid" | "risky";
}

function domainsOf({ rows, site }: SiteList): number {
  const domains = Math.max(1, Math.round(rows / site.sites / site.rowsPerDomain)) * site.sites;
  if (domains > DOMAINS_MAX) throw new Error(`${domains} domains are more than ${DOMAINS_MAX}`);
  return domains;
}

function domainName({ run, site, catchAllEvery }: SiteList, domain: number): string {
  // Counted within the site, so that each has its part of them.
  const within = Math.floor(domain / site.sites);
  const isCatchAll = catchAllEvery > 0 && within % catchAllEvery === 0;
  return `${isCatchAll ? CATCH_ALL : "own"}${domain}.r${run}.test`;
}

/** Consecutive rows go to different sites, and a site's rows to its domains by turns. */
function placeRow(list: SiteList, row: number): PlacedRow {
  const domain = row % domainsOf(list);
  const name = domainName(list, domain);
  const site = domain % list.site.sites;
  if (name.startsWith(CATCH_ALL)) return { local: `user${row}`, domain: name, site, verdict: "risky" };
  // Shifted by one at each next domain, so that a site does not get many missing recipients in a row.
  const turn = Math.floor(row / domainsOf(list)) + Math.floor(domain / list.site.sites);
  const isMissing = turn % list.missingEvery === list.missingEvery - 1;
  return {
    local: `${isMissing ? "nobody" : "user"}${row}`,
    domain: name,
    site,
    verdict: isMissing ? "invalid" : "valid",
  };
}

export function* siteFile(list: SiteList): Generator<Buffer> {
  yield Buffer.from("email\r\n");
  let text = "";
  for (let row = 0; row < list.rows; row++) {
    const { local, domain } = placeRow(list, row);
    text += `${local}@${domain}\r\n`;
    if (text.length < 65_536) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}

export interface SiteCounts {
  verdicts: Record<PlacedRow["verdict"], number>;
  /** Number of refused rows, and of catch-all domains. */
  refused: number;
  catchAll: number;
}

/** The expected verdicts of the job, and the formula's input. */
export function countsOf(list: SiteList): SiteCounts {
  const verdicts = { valid: 0, invalid: 0, risky: 0 };
  for (let row = 0; row < list.rows; row++) verdicts[placeRow(list, row).verdict] += 1;
  const domains = domainsOf(list);
  const open = Array.from({ length: domains }, (_, at) => domainName(list, at)).filter(acceptsAll).length;
  return { verdicts, refused: verdicts.invalid / list.rows, catchAll: open / domains };
}

const acceptsAll = (domain: string) => domain.startsWith(CATCH_ALL);

/** As its server has it. Strangers' names begin otherwise. */
export function exists(local: string, domain: string): boolean {
  return acceptsAll(domain) || local.startsWith("user");
}

export function siteInternet(lists: readonly SiteList[]): Internet {
  const zone: Zone = new Map();
  for (const list of lists) {
    for (let site = 0; site < list.site.sites; site++) zone.set(siteHost(site), { a: [siteAddress(site)] });
    for (let domain = 0; domain < domainsOf(list); domain++)
      zone.set(domainName(list, domain), { mx: [[10, siteHost(domain % list.site.sites)]] });
  }
  const sites = Math.max(...lists.map(({ site }) => site.sites));
  return { zone, addresses: Array.from({ length: sites }, (_, site) => siteAddress(site)) };
}
