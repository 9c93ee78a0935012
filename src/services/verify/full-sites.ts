import { LRUCache } from "lru-cache";
import type { PendingBatch } from "../../check/pool.ts";
import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { AskedRow } from "./batch-work.ts";

/** Rows of a domain that its site is likely to have no room for; as many as it may have are not among them. */
export interface Surplus {
  domain: string;
  site: string;
  rows: AskedRow[];
  /** Rows of the domain that are looked up first. */
  sample: number;
}

/** Rows, and those that leave their busy site: by it. */
export interface AdmittedRows {
  rows: AskedRow[];
  leaving: { site: string; rows: readonly AskedRow[] }[];
}

/**
 * Which sites have all the rows that they take, as check threads would say of further ones of a chunk: without a look into Redis for
 * each of these, nor their way to a thread and back. In a list that is sorted by domain they are nearly all: of 400 rows of a
 * site with one connection 20 are asked, and the others become its retries.
 *
 * It knows sites by their domains alone: that one was too busy for a row a moment ago, or, of many rows of a domain that nothing is
 * known of, where a thread says that they wait (`new-domains`). A thread knows better what its sessions take:
 * who is let through here may yet come back. Nor are rows put off for long for what holds no more, when their domain has turned
 * to another host, or what is now known of the site answers them at once: what a thread said is forgotten after
 * `LIMITS.bulk.fullDomainMs`, however often it was asked for.
 */
export interface FullSites {
  /** A thread had no room for a row of the domain, or says that this is the line where its rows wait; null: they wait in none. */
  learn(domain: string, site: string | null): void;
  /** Whether nothing is known of the domain, and so many rows of it may be more than its site has room for. */
  isNew(domain: string, rows: number): boolean;
  /** Rows are with a thread, `atOnce` of them under way. @returns to be called when they no longer are */
  enter(batch: Pick<PendingBatch, "remaining">, rows: readonly AskedRow[], atOnce: number): () => void;
  /** Before rows are looked up. */
  cut(rows: readonly AskedRow[]): { first: readonly AskedRow[]; surplus: Surplus[] };
  /**
   * Whether a surplus need not be looked up: of its sample nobody was known, and that alone is what there is room for.
   * @param unknown what is left of the rows that were looked up
   */
  isHopeless(surplus: Surplus, unknown: readonly AskedRow[]): boolean;
  /** Before rows go to a thread. */
  admit(rows: AskedRow[]): AdmittedRows;
}

interface KnownDomain {
  site: string | null;
  untilMs: number;
}

interface BatchRows {
  batch: Pick<PendingBatch, "remaining">;
  rows: number;
}

const { fullDomains, fullDomainMs, retryRowsPerSite } = LIMITS.bulk;

/** @param roomAt rows that the threads take of a site at once */
class ObservedFullSites implements FullSites {
  readonly #roomAt: (site: string) => number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #domains = new LRUCache<string, KnownDomain>({ max: fullDomains });
  readonly #lines = new Map<string, Set<BatchRows>>();

  constructor(roomAt: (site: string) => number, clock: Pick<Clock, "monotonic">) {
    this.#roomAt = roomAt;
    this.#clock = clock;
  }

  learn(domain: string, site: string | null): void {
    const nowMs = this.#clock.monotonic();
    // Who could not say knows no better than who had no room a moment ago.
    if (site === null && this.#knownAt(domain, nowMs) !== undefined) return;
    this.#domains.set(domain, { site, untilMs: nowMs + fullDomainMs });
  }

  isNew(domain: string, rows: number): boolean {
    if (rows <= retryRowsPerSite || this.#knownAt(domain, this.#clock.monotonic()) !== undefined)
      return false;
    // Most sites are treated alike, whatever their names.
    return rows > this.#roomAt(domain);
  }

  enter(batch: Pick<PendingBatch, "remaining">, rows: readonly AskedRow[], atOnce: number): () => void {
    const entered: [string, BatchRows][] = [];
    for (const [site, count] of this.#sitesOf(rows)) {
      const line = { batch, rows: Math.min(count, atOnce) };
      const known = this.#lines.get(site);
      if (known === undefined) this.#lines.set(site, new Set([line]));
      else known.add(line);
      entered.push([site, line]);
    }
    return () => {
      for (const [site, line] of entered) {
        const known = this.#lines.get(site);
        known?.delete(line);
        if (known?.size === 0) this.#lines.delete(site);
      }
    };
  }

  cut(rows: readonly AskedRow[]): { first: readonly AskedRow[]; surplus: Surplus[] } {
    const surplus: Surplus[] = [];
    for (const [domain, group] of this.#byDomain(rows) ?? []) {
      const site = this.#siteOf(domain);
      const sample = Math.max(retryRowsPerSite, this.#roomLeft(site));
      if (group.length > sample) surplus.push({ domain, site, rows: group.slice(sample), sample });
    }
    return { first: surplus.length === 0 ? rows : this.#without(rows, surplus), surplus };
  }

  isHopeless({ domain, site, sample }: Surplus, unknown: readonly AskedRow[]): boolean {
    const left = unknown.reduce((sum, { address }) => sum + (address.domain === domain ? 1 : 0), 0);
    return left >= sample && left >= this.#roomLeft(site);
  }

  admit(rows: AskedRow[]): AdmittedRows {
    const leaving: AdmittedRows["leaving"] = [];
    const admitted = new Map<string, number>();
    for (const [domain, group] of this.#byDomain(rows) ?? []) {
      const site = this.#siteOf(domain);
      const before = admitted.get(site) ?? 0;
      const room = Math.max(0, this.#roomLeft(site) - before);
      admitted.set(site, before + Math.min(room, group.length));
      if (group.length > room) leaving.push({ site, rows: group.slice(room) });
    }
    return { rows: leaving.length === 0 ? rows : this.#without(rows, leaving), leaving };
  }

  #roomLeft(site: string): number {
    let left = this.#roomAt(site);
    for (const { batch, rows } of this.#lines.get(site) ?? []) left -= Math.min(rows, batch.remaining);
    return Math.max(0, left);
  }

  #knownAt(domain: string, nowMs: number): KnownDomain | undefined {
    const known = this.#domains.get(domain);
    return known !== undefined && nowMs < known.untilMs ? known : undefined;
  }

  /** Those of known sites by their domains; null: there are none. */
  #byDomain(rows: readonly AskedRow[]): Map<string, AskedRow[]> | null {
    if (this.#domains.size === 0) return null;
    const nowMs = this.#clock.monotonic();
    const hasSite = (domain: string) => (this.#knownAt(domain, nowMs)?.site ?? null) !== null;
    const groups = new Map<string, AskedRow[]>();
    for (const row of rows) {
      const { domain } = row.address;
      const group = groups.get(domain);
      if (group !== undefined) group.push(row);
      else if (row.scope === "probed" && hasSite(domain)) groups.set(domain, [row]);
    }
    return groups.size === 0 ? null : groups;
  }

  #without(rows: readonly AskedRow[], others: readonly { rows: readonly AskedRow[] }[]): AskedRow[] {
    const left = new Set(others.flatMap((other) => other.rows));
    return rows.filter((row) => !left.has(row));
  }

  #siteOf(domain: string) {
    return this.#domains.get(domain)?.site ?? domain;
  }

  #sitesOf(rows: readonly AskedRow[]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [domain, { length }] of this.#byDomain(rows) ?? []) {
      const site = this.#siteOf(domain);
      counts.set(site, (counts.get(site) ?? 0) + length);
    }
    return counts;
  }
}

export function createFullSites(
  roomAt: (site: string) => number,
  clock: Pick<Clock, "monotonic">,
): FullSites {
  return new ObservedFullSites(roomAt, clock);
}
