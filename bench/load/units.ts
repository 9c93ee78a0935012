/**
 * Durations, shares and counts as people write them on a command line. All functions throw `UsageError` that names the
 * option.
 */

/** The command cannot be carried out as given: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

const MS_OF: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const THOUSANDS: Record<string, number> = { "": 1, k: 1_000, M: 1_000_000 };

/** @param text e.g. `500ms`, `30s`, `1.5m`, `2h` @returns milliseconds, above nought unless `orNone` */
export function parseDuration(option: string, text: string, { orNone = false } = {}): number {
  const [, figure, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  if (figure === undefined && !(orNone && text === "0"))
    throw new UsageError(`${option} takes a duration such as 500ms, 30s or 5m, not "${text}"`);
  const ms = Math.round(Number(figure ?? 0) * (MS_OF[unit] ?? 0));
  if (ms === 0 && !orNone) throw new UsageError(`${option} must be above nought`);
  return ms;
}

/** @param text e.g. `64`, `10k`, `1M` @returns a whole number from `min` */
export function parseCount(option: string, text: string, min = 1): number {
  const [, figure, unit = ""] = /^(\d+(?:\.\d+)?)([kM]?)$/.exec(text) ?? [];
  const count = Number(figure) * (THOUSANDS[unit] ?? Number.NaN);
  if (!Number.isSafeInteger(count) || count < min)
    throw new UsageError(`${option} takes a whole number from ${min} such as 64 or 10k, not "${text}"`);
  return count;
}

/** @param text e.g. `200`, `0.5`, `2k` @returns a figure above nought */
export function parseRate(option: string, text: string): number {
  const [, figure, unit = ""] = /^(\d+(?:\.\d+)?)(k?)(?:\/s)?$/.exec(text) ?? [];
  const rate = Number(figure) * (THOUSANDS[unit] ?? Number.NaN);
  if (!Number.isFinite(rate) || rate <= 0)
    throw new UsageError(`${option} takes requests a second such as 200 or 2k, not "${text}"`);
  return rate;
}

/** @param text e.g. `0.9` or `90%` @returns 0 to 1 */
export function parseShare(option: string, text: string): number {
  const [, figure, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const share = percent === "%" ? Number(figure) / 100 : Number(figure);
  if (!(share >= 0 && share <= 1))
    throw new UsageError(`${option} takes a share such as 0.9 or 90%, not "${text}"`);
  return share;
}

/** Milliseconds as people read them, e.g. `1 h`, `90 s`, `250 ms`. */
export function writeDuration(ms: number): string {
  if (ms >= 3_600_000 && ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  if (ms >= 120_000 && ms % 60_000 === 0) return `${ms / 60_000} min`;
  return ms >= 1_000 ? `${Number((ms / 1_000).toFixed(1))} s` : `${Math.round(ms)} ms`;
}

/** A latency in microseconds with three figures and the unit that suits it, e.g. `0.84 ms`, `12.3 ms`, `1.20 s`. */
export function writeLatency(us: number): string {
  if (us >= 1_000_000) return `${(us / 1_000_000).toPrecision(3)} s`;
  const ms = us / 1_000;
  return `${ms >= 100 ? Math.round(ms) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

export const writeCount = (count: number) => Math.round(count).toLocaleString("en");

/** A share of 1 as a percentage, with enough digits not to be 0, e.g. `0.04 %`. */
export function writeShare(share: number): string {
  const percent = share * 100;
  if (percent === 0 || percent >= 10) return `${Math.round(percent * 10) / 10} %`;
  return `${Number(percent.toPrecision(2))} %`;
}
