import { benchCachedVerify } from "./api/http.ts";
import { benchMemory } from "./api/memory.ts";
import { benchPortal } from "./api/portal-pages.ts";
import { benchSingleCheck } from "./api/single.ts";
import { benchStartup } from "./api/startup.ts";
import { benchUncachedVerify } from "./api/unprobed-http.ts";
import { benchBulkMemory } from "./bulk/bulk-memory.ts";
import { benchBulkThroughput } from "./bulk/bulk-throughput.ts";
import { benchGrowth } from "./bulk/growth.ts";
import { benchScaling } from "./bulk/scaling.ts";
import { benchSlowSite } from "./bulk/slow-site.ts";
import { benchProbing } from "./probing/probing.ts";
import { benchUnprobedRows } from "./probing/unprobed.ts";
import type { Section } from "./report/table.ts";
import type { BenchContext } from "./setup/context.ts";

/** Measures one table, from a clean state. @throws InvalidRun if the figures must not be counted */
export type Bench = (context: BenchContext) => Promise<Section>;

export interface SectionEntry {
  /** Run one after the other; each gives one table. */
  benches: Bench[];
  /** Time budget of the section on two cores, in seconds, for a full and a quick run. */
  allowanceS: { full: number; quick: number };
  /** Ids of the targets that it must report. They are void if it fails, or leaves them out. */
  promises: readonly string[];
  needsObjects: boolean;
  /** Takes as long as its lists, hence only runs when it is asked for by name. */
  onDemand: boolean;
}

/**
 * Sections by their names on the command line, in the order in which they run. Names must not change: users have them
 * in scripts.
 */
export const SECTIONS: Record<string, SectionEntry> = {
  http: {
    benches: [benchCachedVerify],
    allowanceS: { full: 265, quick: 25 },
    promises: ["http.cached.cpu", "http.cached.touched", "http.cached.fastify", "http.cached.p99"],
    needsObjects: false,
    onDemand: false,
  },
  unprobed: {
    benches: [benchUncachedVerify, benchUnprobedRows],
    allowanceS: { full: 120, quick: 18 },
    promises: ["http.uncached.cpu"],
    needsObjects: false,
    onDemand: false,
  },
  probing: {
    benches: ([0, 20] as const).map(
      (latencyMs) => (context: BenchContext) => benchProbing(context, latencyMs),
    ),
    allowanceS: { full: 160, quick: 25 },
    promises: [
      "probing.depth1.nodelay",
      "probing.depth10.nodelay",
      "probing.depth1.20ms",
      "probing.depth10.20ms",
      "probing.shipped.20ms",
    ],
    needsObjects: false,
    onDemand: false,
  },
  single: {
    benches: [benchSingleCheck],
    allowanceS: { full: 75, quick: 25 },
    promises: ["single.unseen"],
    needsObjects: false,
    onDemand: false,
  },
  bulk: {
    benches: [benchBulkThroughput],
    allowanceS: { full: 90, quick: 25 },
    promises: ["bulk.cached", "bulk.lists", "bulk.probed"],
    needsObjects: true,
    onDemand: false,
  },
  scaling: {
    benches: [benchScaling],
    allowanceS: { full: 110, quick: 15 },
    promises: ["bulk.scaling"],
    needsObjects: true,
    onDemand: false,
  },
  growth: {
    benches: [benchGrowth],
    allowanceS: { full: 295, quick: 15 },
    promises: ["growth.rows", "growth.domains"],
    needsObjects: true,
    onDemand: false,
  },
  startup: {
    benches: [benchStartup, benchMemory],
    allowanceS: { full: 70, quick: 20 },
    promises: ["startup.api", "memory.idle", "memory.cached"],
    needsObjects: true,
    onDemand: false,
  },
  "bulk-memory": {
    benches: [benchBulkMemory],
    allowanceS: { full: 900, quick: 120 },
    promises: ["bulk-memory.growth", "bulk-memory.bound"],
    needsObjects: true,
    onDemand: true,
  },
  "slow-site": {
    benches: [benchSlowSite],
    allowanceS: { full: 300, quick: 150 },
    promises: ["slow-site.rate", "slow-site.others"],
    needsObjects: true,
    onDemand: true,
  },
  portal: {
    benches: [benchPortal],
    allowanceS: { full: 60, quick: 30 },
    promises: ["portal.sign-in", "portal.verify"],
    needsObjects: false,
    onDemand: true,
  },
};

/** Sections by their names; without names, all but those on demand. @throws Error that names unknown ones */
export function chosenSections(names: readonly string[]): [string, SectionEntry][] {
  if (names.length === 0) return Object.entries(SECTIONS).filter(([, { onDemand }]) => !onDemand);
  return [...new Set(names)].map((name) => {
    const entry = SECTIONS[name];
    if (entry === undefined)
      throw new Error(`there is no section ${name}: ${Object.keys(SECTIONS).join(", ")}`);
    return [name, entry];
  });
}
