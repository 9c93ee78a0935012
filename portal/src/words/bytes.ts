import { withDigits } from "./numbers.ts";

const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;
const STEP = 1_000;

/** 12345678 as "12.3 MB", its number by the reader's own custom. */
export function byteSize(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  return `${withDigits(value, unit === 0 || value >= 100 ? 0 : 1)} ${UNITS[unit]}`;
}
