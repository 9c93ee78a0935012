import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { describeDescriptors } from "./descriptors.ts";

/** Resources that a process uses. */
export interface Resources {
  rssMb: number;
  descriptors: number;
  threads: number;
}

const KB_PER_MB = 1_024;

/** null when the process is gone, or does not belong to us. */
export function resourcesOf(pid: number): Resources | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const number = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    return {
      rssMb: Math.round(number("VmRSS") / KB_PER_MB),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      threads: number("Threads"),
    };
  } catch {
    return null;
  }
}

/** The most of each that was seen. */
export function mostOf(a: Resources, b: Resources): Resources {
  return {
    rssMb: Math.max(a.rssMb, b.rssMb),
    descriptors: Math.max(a.descriptors, b.descriptors),
    threads: Math.max(a.threads, b.threads),
  };
}

export interface ResourceWatch {
  /** Most of each member since the watch began, or since `reset`. */
  peaks(): ReadonlyMap<string, Resources>;
  /** Current resources of each member. */
  now(): Map<string, Resources>;
  /** Descriptions of each member's current descriptors. */
  descriptors(): Map<string, string>;
  reset(): void;
  stop(): void;
}

const LOOK_EVERY_MS = 250;

export function watchResources(members: readonly { name: string; pid: number | null }[]): ResourceWatch {
  const peaks = new Map<string, Resources>();

  function now(): Map<string, Resources> {
    const found = new Map<string, Resources>();
    for (const { name, pid } of members) {
      const resources = pid === null ? null : resourcesOf(pid);
      if (resources !== null) found.set(name, resources);
    }
    return found;
  }

  function look(): void {
    for (const [name, found] of now()) peaks.set(name, mostOf(found, peaks.get(name) ?? found));
  }

  const timer = setInterval(look, LOOK_EVERY_MS);
  return {
    peaks: () => peaks,
    now,
    descriptors: () =>
      new Map(members.flatMap(({ name, pid }) => (pid === null ? [] : [[name, describeDescriptors(pid)]]))),
    reset: () => peaks.clear(),
    stop: () => clearInterval(timer),
  };
}

/** By how much a process may have more at the end than it had at the same work before the faults. */
export const GROWTH = { rssShare: 1.35, rssMb: 60, descriptors: 24, threads: 3 } as const;

/** Resources of a process that exceed the bound on their growth; empty when all are within. */
export function growthOf(name: string, before: Resources, after: Resources): string[] {
  const bounds: Resources = {
    rssMb: Math.round(before.rssMb * GROWTH.rssShare + GROWTH.rssMb),
    descriptors: before.descriptors + GROWTH.descriptors,
    threads: before.threads + GROWTH.threads,
  };
  return (["rssMb", "descriptors", "threads"] as const)
    .filter((what) => after[what] > bounds[what])
    .map((what) => `${name}: ${what} ${before[what]} -> ${after[what]}, at most ${bounds[what]}`);
}

/** Idle, a process closes connections within seconds, and ends its threads for large requests after a minute. */
const BACK_WITHIN_MS = 80_000;

/** Resources of each member once all are within the bounds on growth since `before`, or when time is up. */
export async function resourcesAtRest(
  watch: Pick<ResourceWatch, "now">,
  before: ReadonlyMap<string, Resources>,
): Promise<Map<string, Resources>> {
  const untilMs = performance.now() + BACK_WITHIN_MS;
  for (;;) {
    const found = watch.now();
    const hasGrown = [...found].some(
      ([name, now]) => growthOf(name, before.get(name) ?? now, now).length > 0,
    );
    if (!hasGrown || performance.now() > untilMs) return found;
    await wait(LOOK_EVERY_MS);
  }
}
