import type { PendingBatch } from "../../check/pool.ts";
import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import { RecentMap } from "../../core/recent-map.ts";
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
export interface Admitted {
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
  enter(batch: Pick<PendingBatch, "left">, rows: readonly AskedRow[], atOnce: number): () => void;
  /** Before rows are looked up. */
  cut(rows: readonly AskedRow[]): { first: readonly AskedRow[]; surplus: Surplus[] };
  /**
   * Whether a surplus need not be looked up: of its sample nobody was known, and that alone is what there is room for.
   * @param unknown what is left of the rows that were looked up
   */
  isHopeless(surplus: Surplus, unknown: readonly AskedRow[]): boolean;
  /** Before rows go to a thread. */
  admit(rows: AskedRow[]): Admitted;
}

interface KnownDomain {
  site: string | null;
  untilMs: number;
}

interface Line {
  batch: Pick<PendingBatch, "left">;
  rows: number;
}

/** @param roomAt rows that the threads take of a site at once */
export function createFullSites(
  roomAt: (site: string) => number,
  clock: Pick<Clock, "monotonic">,
): FullSites {
  const { fullDomains, fullDomainMs, retryRowsPerSite } = LIMITS.bulk;
  const domains = new RecentMap<string, KnownDomain>(fullDomains);
  const lines = new Map<string, Set<Line>>();

  function roomLeft(site: string): number {
    let left = roomAt(site);
    for (const { batch, rows } of lines.get(site) ?? []) left -= Math.min(rows, batch.left);
    return Math.max(0, left);
  }

  function knownAt(domain: string, nowMs: number): KnownDomain | undefined {
    const known = domains.get(domain);
    return known !== undefined && nowMs < known.untilMs ? known : undefined;
  }

  /** Those of known sites by their domains; null: there are none. */
  function byDomain(rows: readonly AskedRow[]): Map<string, AskedRow[]> | null {
    if (domains.size === 0) return null;
    const nowMs = clock.monotonic();
    const hasSite = (domain: string) => (knownAt(domain, nowMs)?.site ?? null) !== null;
    const groups = new Map<string, AskedRow[]>();
    for (const row of rows) {
      const { domain } = row.address;
      const group = groups.get(domain);
      if (group !== undefined) group.push(row);
      else if (row.scope === "probed" && hasSite(domain)) groups.set(domain, [row]);
    }
    return groups.size === 0 ? null : groups;
  }

  function without(rows: readonly AskedRow[], others: readonly { rows: readonly AskedRow[] }[]): AskedRow[] {
    const left = new Set(others.flatMap((other) => other.rows));
    return rows.filter((row) => !left.has(row));
  }

  const siteOf = (domain: string) => domains.get(domain)?.site ?? domain;

  function sitesOf(rows: readonly AskedRow[]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [domain, { length }] of byDomain(rows) ?? []) {
      const site = siteOf(domain);
      counts.set(site, (counts.get(site) ?? 0) + length);
    }
    return counts;
  }

  return {
    learn(domain, site) {
      const nowMs = clock.monotonic();
      // Who could not say knows no better than who had no room a moment ago.
      if (site === null && knownAt(domain, nowMs) !== undefined) return;
      domains.set(domain, { site, untilMs: nowMs + fullDomainMs });
    },
    isNew(domain, rows) {
      if (rows <= retryRowsPerSite || knownAt(domain, clock.monotonic()) !== undefined) return false;
      // Most sites are treated alike, whatever their names.
      return rows > roomAt(domain);
    },
    enter(batch, rows, atOnce) {
      const entered: [string, Line][] = [];
      for (const [site, count] of sitesOf(rows)) {
        const line = { batch, rows: Math.min(count, atOnce) };
        const known = lines.get(site);
        if (known === undefined) lines.set(site, new Set([line]));
        else known.add(line);
        entered.push([site, line]);
      }
      return () => {
        for (const [site, line] of entered) {
          const known = lines.get(site);
          known?.delete(line);
          if (known?.size === 0) lines.delete(site);
        }
      };
    },
    cut(rows) {
      const surplus: Surplus[] = [];
      for (const [domain, group] of byDomain(rows) ?? []) {
        const site = siteOf(domain);
        const sample = Math.max(retryRowsPerSite, roomLeft(site));
        if (group.length > sample) surplus.push({ domain, site, rows: group.slice(sample), sample });
      }
      return { first: surplus.length === 0 ? rows : without(rows, surplus), surplus };
    },
    isHopeless({ domain, site, sample }, unknown) {
      const left = unknown.reduce((sum, { address }) => sum + (address.domain === domain ? 1 : 0), 0);
      return left >= sample && left >= roomLeft(site);
    },
    admit(rows) {
      const leaving: Admitted["leaving"] = [];
      const admitted = new Map<string, number>();
      for (const [domain, group] of byDomain(rows) ?? []) {
        const site = siteOf(domain);
        const before = admitted.get(site) ?? 0;
        const room = Math.max(0, roomLeft(site) - before);
        admitted.set(site, before + Math.min(room, group.length));
        if (group.length > room) leaving.push({ site, rows: group.slice(room) });
      }
      return { rows: leaving.length === 0 ? rows : without(rows, leaving), leaving };
    },
  };
}
