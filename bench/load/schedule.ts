import { LIMITS } from "./bounds.ts";
import { parseCount, parseDuration, parseRate, UsageError } from "./units.ts";

/** A stretch of time in which a level (requests a second, or connections) goes in a straight line. */
export interface Segment {
  fromMs: number;
  /** Infinity of the last one. */
  toMs: number;
  from: number;
  to: number;
}

/** Segments in order, without gaps, from 0 to Infinity. */
export type Profile = readonly Segment[];

/** How the level reaches its final value. */
export type Ramp =
  | { kind: "none" }
  | { kind: "linear"; overMs: number }
  /** The last level is kept. */
  | { kind: "steps"; levels: number[]; stepMs: number };

/**
 * `30s`: linear from nothing to the target. `100,200,400:10s`: each level for ten seconds; the last one is the target.
 * @param isCount levels are connections, hence whole
 */
export function parseRamp(text: string, isCount: boolean): Ramp {
  if (!text.includes(":") && !text.includes(","))
    return { kind: "linear", overMs: parseDuration("--ramp", text) };
  const [list = "", step, ...more] = text.split(":");
  if (step === undefined || more.length > 0)
    throw new UsageError(
      `--ramp takes a duration such as 30s, or levels such as 100,200,400:10s, not "${text}"`,
    );
  const levels = list.split(",").map((level) => (isCount ? parseCount : parseRate)("--ramp", level));
  if (levels.length > LIMITS.steps) throw new UsageError(`--ramp takes ${LIMITS.steps} levels at most`);
  return { kind: "steps", levels, stepMs: parseDuration("--ramp", step) };
}

/** @param target the final level; for steps the last one is */
export function profileOf(ramp: Ramp, target: number): Profile {
  if (ramp.kind === "none") return [{ fromMs: 0, toMs: Infinity, from: target, to: target }];
  if (ramp.kind === "linear") {
    return [
      { fromMs: 0, toMs: ramp.overMs, from: 0, to: target },
      { fromMs: ramp.overMs, toMs: Infinity, from: target, to: target },
    ];
  }
  const { levels, stepMs } = ramp;
  return levels.map((level, i) => ({
    fromMs: i * stepMs,
    toMs: i === levels.length - 1 ? Infinity : (i + 1) * stepMs,
    from: level,
    to: level,
  }));
}

export function levelAt(profile: Profile, ms: number): number {
  const segment = profile.find(({ toMs }) => ms < toMs) ?? profile.at(-1);
  if (segment === undefined) return 0;
  if (segment.to === segment.from) return segment.from;
  const share = (ms - segment.fromMs) / (segment.toMs - segment.fromMs);
  return segment.from + (segment.to - segment.from) * share;
}

/** Arrivals of a stretch up to `ms` after its start: the area under the line. */
function areaOf({ fromMs, toMs, from, to }: Segment, ms: number): number {
  if (from === to) return (from * ms) / 1_000;
  return ((from + ((to - from) * ms) / (toMs - fromMs) / 2) * ms) / 1_000;
}

/** Milliseconds after the segment's start at which `area` requests have been due: the inverse of the rate's integral. */
function timeOf({ fromMs, toMs, from, to }: Segment, area: number): number {
  if (from === to) return (area * 1_000) / from;
  const slope = (to - from) / (toMs - fromMs);
  // slope / 2 · t² + from · t = area · 1000, in the form that divides by no small difference.
  const root = Math.sqrt(Math.max(0, from * from + 2 * slope * area * 1_000));
  return (2 * area * 1_000) / (from + root);
}

/**
 * The moment, in milliseconds from the start, at which `arrivals` (not necessarily whole) are due under a profile of
 * requests a second. Ascending in `arrivals`.
 */
export function dueAt(profile: Profile, arrivals: number): number {
  let left = arrivals;
  for (const segment of profile) {
    const area = segment.toMs === Infinity ? Infinity : areaOf(segment, segment.toMs - segment.fromMs);
    if (left <= area) return segment.fromMs + (left === 0 ? 0 : timeOf(segment, left));
    left -= area;
  }
  return Infinity;
}

/**
 * Times of requests of an open loop, one after the other: evenly, or as independent callers come (exponential gaps).
 * @param random as Math.random
 */
export function createArrivals(
  profile: Profile,
  kind: "uniform" | "poisson",
  random: () => number,
): () => number {
  let arrivals = 0;
  return () => {
    arrivals += kind === "uniform" ? 1 : -Math.log(1 - random());
    return dueAt(profile, arrivals);
  };
}
