/** One run of one subject. */
export interface Sample {
  /** Units of work a second, wall clock. */
  perS: number;
  /** CPU microseconds of the measured process, all its threads, for each unit. */
  cpuUs: number;
  /** CPU time over wall time: 1 is one core at work all the while. */
  busy: number;
}

/** Medians over a subject's runs. */
export interface Summary extends Sample {
  /** (largest - smallest) / median of `perS`: how far the runs lie apart. */
  spread: number;
}

/** Something that can be run again and again. Throws `InvalidRun` when a run did not do what it is measured for. */
export interface Subject {
  /** @param round 0 is the warm-up */
  run(round: number): Promise<Sample>;
}

/** A run that must not be counted: errors, wrong verdicts, answers missing. Never: the machine was slow. */
export class InvalidRun extends Error {
  override name = "InvalidRun";
}

/** @throws RangeError without values */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError("a median of nothing");
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The value at `share` of the sorted `values`; 0 without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/**
 * The median of the ratios of first to second. NaN where any value is not above zero: such a value is noise, which a
 * median would hide.
 */
export function medianRatio(pairs: readonly (readonly [number, number])[]): number {
  if (pairs.length === 0 || !pairs.every(([first, second]) => first > 0 && second > 0)) return Number.NaN;
  return median(pairs.map(([first, second]) => first / second));
}

/** @param cpuUs user and system time of the process during the run, microseconds */
export function sampleOf(units: number, wallMs: number, cpuUs: number): Sample {
  return { perS: (units * 1_000) / wallMs, cpuUs: cpuUs / units, busy: cpuUs / (wallMs * 1_000) };
}

export function summarise(samples: readonly Sample[]): Summary {
  const rates = samples.map(({ perS }) => perS);
  const perS = median(rates);
  return {
    perS,
    cpuUs: median(samples.map(({ cpuUs }) => cpuUs)),
    busy: median(samples.map(({ busy }) => busy)),
    spread: (Math.max(...rates) - Math.min(...rates)) / perS,
  };
}

/**
 * The subjects of round `round`, starting with another one each time, so that none always runs on a warm or a throttled
 * machine.
 */
export function rotated<T>(subjects: readonly T[], round: number): T[] {
  const first = subjects.length === 0 ? 0 : round % subjects.length;
  return [...subjects.slice(first), ...subjects.slice(0, first)];
}

/**
 * Runs all subjects once to warm up, which is not counted, then `rounds` times by turns, so that other load on the machine
 * affects all of them equally. Resolves to the summaries in the order of `subjects`.
 */
export async function interleave(subjects: readonly Subject[], rounds: number): Promise<Summary[]> {
  const samples = new Map(subjects.map((subject) => [subject, [] as Sample[]]));
  for (const subject of subjects) await subject.run(0);
  for (let round = 1; round <= rounds; round++) {
    for (const subject of rotated(subjects, round)) samples.get(subject)?.push(await subject.run(round));
  }
  return subjects.map((subject) => summarise(samples.get(subject) ?? []));
}
