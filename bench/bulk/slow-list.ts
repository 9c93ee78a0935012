import type { Zone } from "../../test/support/mail-world/zone.ts";
import type { Internet } from "../sinks/mail.ts";

/**
 * Lists with a share of rows at one provider that allows few connections, the rest at the domains of many others. Each
 * run has domains of its own, so that no run uses another's facts. Pure: every process computes the same lists.
 */

/** Rows of a list: at the capped provider and at others, only at the provider, or only at others. */
export type SlowListKind = "mixed" | "capped" | "others";

export interface SlowRow {
  email: string;
  verdict: string;
  reason: string;
}

/** The site, as src/verification/lists/site.ts names it, and what src/egress/shaping.json allows it. */
export const CAPPED_SITE = "outlook";
export const CAPPED_CONNECTIONS = 5;
export const CAPPED_DEPTH = 5;
export const CAPPED_TRANSACTIONS = 50;
/** Domains of all others, and the sites they are at, of a mail server each. */
export const DOMAINS = 5_000;
export const SITES = 500;

/** So many of CYCLE rows are at the provider, evenly among the others. */
const CYCLE = 5;
const CAPPED_OF_CYCLE = 2;
/** Every n-th address does not exist: sessions end at their limit of transactions, not of refusals. */
const MISSING_EVERY = 20;
const SITES_PER_NET = 250;
const CAPPED_HOST = "outlook-com.olc.protection.outlook.com";

export const cappedAddress = "127.0.4.1";
const siteAddress = (site: number) =>
  `127.0.${5 + Math.floor(site / SITES_PER_NET)}.${(site % SITES_PER_NET) + 1}`;
const siteHost = (site: number) => `mx.stranger${site}.test`;

const cappedDomain = (run: number) => `customers.s${run}.test`;
const otherDomain = (run: number, domain: number) => `d${domain}.s${run}.test`;

/** The provider is the first of its addresses. */
export function slowInternet(runs: readonly number[]): Internet {
  const zone: Zone = new Map();
  zone.set(CAPPED_HOST, { a: [cappedAddress] });
  for (let site = 0; site < SITES; site++) zone.set(siteHost(site), { a: [siteAddress(site)] });
  for (const run of runs) {
    zone.set(cappedDomain(run), { mx: [[10, CAPPED_HOST]] });
    for (let domain = 0; domain < DOMAINS; domain++)
      zone.set(otherDomain(run, domain), { mx: [[10, siteHost(domain % SITES)]] });
  }
  return {
    zone,
    addresses: [cappedAddress, ...Array.from({ length: SITES }, (_, site) => siteAddress(site))],
  };
}

/** Number of rows at the provider among the first `rows` of a mixed list. */
export function cappedOf(rows: number): number {
  return Math.floor(rows / CYCLE) * CAPPED_OF_CYCLE + Math.min(rows % CYCLE, CAPPED_OF_CYCLE);
}

function rowOf(domain: string, n: number): SlowRow {
  if (n % MISSING_EVERY === MISSING_EVERY - 1)
    return { email: `nobody${n}@${domain}`, verdict: "invalid", reason: "mailbox_not_found" };
  return { email: `user${n}@${domain}`, verdict: "valid", reason: "accepted_mailbox" };
}

/**
 * The domains of the others come one after the other, so that a list meets new ones to its end, and at the same pace.
 * @param rows of the mixed list; the others are the parts of it
 */
export function* slowRows(run: number, kind: SlowListKind, rows: number): Generator<SlowRow> {
  const ofOthers = rows - cappedOf(rows);
  let capped = 0;
  let others = 0;
  for (let i = 0; i < rows; i++) {
    if (i % CYCLE < CAPPED_OF_CYCLE) {
      if (kind !== "others") yield rowOf(cappedDomain(run), capped);
      capped += 1;
    } else {
      if (kind !== "capped") yield rowOf(otherDomain(run, Math.floor((others * DOMAINS) / ofOthers)), others);
      others += 1;
    }
  }
}
