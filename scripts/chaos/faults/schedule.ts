import { randomInts } from "../../suggestions/random-ints.ts";
import { FAULTS, type Family, type Kind } from "./faults.ts";

/** One fault of a run, as the seed says; all that it needs is drawn here, so that a seed repeats it. */
export interface PlannedFault {
  kind: Kind;
  /** From the begin of the faults. */
  atMs: number;
  holdMs: number;
  /** 32 bits for what the fault chooses: which process, which site, how far a clock jumps. */
  pick: number;
}

/** Gap between two faults of a family, so that recovery from the first can be seen. */
const FAMILY_GAP_MS = 1_500;
const PICKS = 2 ** 31;

/** Puts `items` in an order of the seed's. */
function shuffled<T>(items: readonly T[], below: (n: number) => number): T[] {
  const left = [...items];
  return items.map(() => left.splice(below(left.length), 1)[0] as T);
}

function timesOf(kind: Kind, forMs: number): number {
  return Math.max(1, Math.round((FAULTS[kind].perMinute * forMs) / 60_000));
}

/** Places each fault in a time slot of its own, so that those of a family do not overlap. */
function placed(kinds: readonly Kind[], forMs: number, below: (n: number) => number): PlannedFault[] {
  const partMs = forMs / kinds.length;
  return kinds.map((kind, i) => {
    const [min, max] = FAULTS[kind].holdS.map((s) => s * 1_000) as [number, number];
    const room = Math.max(0, partMs - FAMILY_GAP_MS);
    const holdMs = Math.min(room, min + below(Math.max(1, Math.round(max - min))));
    const spare = Math.max(1, Math.floor(room - holdMs));
    return {
      kind,
      atMs: Math.round(i * partMs + below(spare)),
      holdMs: Math.round(holdMs),
      pick: below(PICKS),
    };
  });
}

/**
 * The faults of a run of `forMs`, ordered by their start. Each kind comes as often as its spec says, at least once.
 * Faults of a family do not overlap.
 */
export function planFaults(seed: number, kinds: readonly Kind[], forMs: number): PlannedFault[] {
  const below = randomInts(seed);
  const families = new Map<Family, Kind[]>();
  for (const kind of kinds) {
    const { family } = FAULTS[kind];
    families.set(family, [
      ...(families.get(family) ?? []),
      ...Array.from({ length: timesOf(kind, forMs) }, () => kind),
    ]);
  }
  const planned = [...families.values()].flatMap((all) => placed(shuffled(all, below), forMs, below));
  return planned.sort((a, b) => a.atMs - b.atMs || a.kind.localeCompare(b.kind));
}
