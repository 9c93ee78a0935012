import type { Zone } from "../../test/support/mail-world/zone.ts";
import type { Internet } from "../sinks/mail.ts";

/**
 * Lists whose rows wait for mail servers, not for a processor. Each list has small sites of its own: one connection
 * each, 20 ms away, and some time for each recipient, as in servers that look one up. Their joint capacity sets the
 * pace of a list; eight lists have eight times as many sites. Pure: every process computes the same lists.
 */

/** Bulk processes, and lists, of the large run. */
export const PROCESSES = 8;
export const SITES_PER_LIST = 50;
export const SITES = PROCESSES * SITES_PER_LIST;
/** Every n-th address does not exist. */
const MISSING_EVERY = 20;
const SITES_PER_NET = 250;

const siteAddress = (site: number) =>
  `127.0.${10 + Math.floor(site / SITES_PER_NET)}.${(site % SITES_PER_NET) + 1}`;
const siteHost = (site: number) => `mx.scaling${site}.test`;
/** The domain of a site, the same in all runs: its DNS is cached after the warm-up, so look-ups are not measured. */
const domainOf = (site: number) => `customers.scaling${site}.test`;

export function scalingInternet(): Internet {
  const zone: Zone = new Map();
  for (let site = 0; site < SITES; site++) {
    zone.set(siteHost(site), { a: [siteAddress(site)] });
    zone.set(domainOf(site), { mx: [[10, siteHost(site)]] });
  }
  return { zone, addresses: Array.from({ length: SITES }, (_, site) => siteAddress(site)) };
}

export interface ScalingList {
  run: number;
  /** 0 to PROCESSES - 1: which sites. */
  list: number;
  rows: number;
}

const isMissing = (row: number) => row % MISSING_EVERY === MISSING_EVERY - 1;

/** Sorted by domain, as lists of companies are: the rows of a site stand together. */
export function* scalingFile({ run, list, rows }: ScalingList): Generator<Buffer> {
  const rowsPerPiece = 1_000;
  const rowsPerSite = Math.ceil(rows / SITES_PER_LIST);
  let text = "email\r\n";
  for (let row = 0; row < rows; row++) {
    const site = list * SITES_PER_LIST + Math.floor(row / rowsPerSite);
    // Each run has mailboxes of its own, so that none is answered from the cache.
    text += `${isMissing(row) ? "nobody" : "user"}${row}.${run}@${domainOf(site)}\r\n`;
    if ((row + 1) % rowsPerPiece !== 0) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}

/** Expected verdicts of the job. */
export function scalingVerdicts({ rows }: ScalingList): { valid: number; invalid: number } {
  const invalid = Math.floor(rows / MISSING_EVERY);
  return { valid: rows - invalid, invalid };
}
