import { LIMITS } from "../config/limits/limits.ts";
import type { SitePolicy } from "../smtp/wire/policy.ts";

/** The probes of each site that wait or run in this thread. */
export interface SiteQueues {
  /**
   * True when one more job would only queue: the present ones keep all the site's connections full, and as many are
   * waiting.
   * @param caps number of the site's caps, 1 when absent; `policy` has the connections of one
   */
  isLong(site: string, policy: SitePolicy, caps?: number): boolean;
  enter(site: string): void;
  /** Follows each `enter` once. */
  leave(site: string): void;
}

/**
 * Probes that keep all the site's connections full, and as many again, if its servers take as many transactions in a write
 * as they may.
 * @param caps of the site, `policy` having the connections of one
 */
export function queueCapacityOf({ maxConnections, pipelineDepthMax }: SitePolicy, caps: number): number {
  return maxConnections * caps * pipelineDepthMax * LIMITS.bulk.lineFillings;
}

/** @param depthAt transactions that a session of the site takes in one write, as far as is known */
export function createSiteQueues(depthAt: (site: string, policy: SitePolicy) => number): SiteQueues {
  const lines = new Map<string, { length: number }>();
  return {
    isLong(site, policy, caps = 1) {
      const length = lines.get(site)?.length ?? 0;
      const perDepth = policy.maxConnections * caps * LIMITS.bulk.lineFillings;
      return length >= perDepth && length >= perDepth * depthAt(site, policy);
    },
    enter(site) {
      const line = lines.get(site);
      if (line === undefined) lines.set(site, { length: 1 });
      else line.length += 1;
    },
    leave(site) {
      const line = lines.get(site);
      if (line === undefined) return;
      line.length -= 1;
      if (line.length === 0) lines.delete(site);
    },
  };
}
