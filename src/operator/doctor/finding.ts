import type { Clock } from "../../core/clock.ts";
import type { Config, ConfigDiagnosis } from "../../core/config.ts";

/** `warn`: it works, and will not always, or not as well as it could. `skipped`: `seen` says why. */
export type State = "ok" | "warn" | "fail" | "skipped";

/** What one check of the doctor found. Neither sentence may name a secret; what does all the same is masked before it is told. */
export interface Finding {
  /** A few words, e.g. `migrations`. */
  check: string;
  state: State;
  /** A sentence: what was found, or why nothing was looked at. */
  seen: string;
  /** A sentence: what to do; "" when there is nothing to do. */
  advice: string;
}

export const ok = (check: string, seen: string): Finding => ({ check, state: "ok", seen, advice: "" });
export const warn = (check: string, seen: string, advice: string): Finding => ({
  check,
  state: "warn",
  seen,
  advice,
});
export const fail = (check: string, seen: string, advice: string): Finding => ({
  check,
  state: "fail",
  seen,
  advice,
});
export const skipped = (check: string, seen: string): Finding => ({
  check,
  state: "skipped",
  seen,
  advice: "",
});

/** What is examined. */
export interface Subject {
  diagnosis: ConfigDiagnosis;
  config: Config;
  clock: Clock;
  /** Services of others may be asked as well (`--online`). */
  online: boolean;
}

/** One group's examination under way. */
export interface Examination {
  /** What is noted counts, also when the group ends in an error or is out of time. */
  note(...findings: Finding[]): void;
  /** Run when the group has ended, or is out of time: latest first, each whatever became of the others. */
  atEnd(close: () => unknown): void;
}

/** Checks that belong together and need the same connection. */
export interface Group {
  name: string;
  title: string;
  examine(subject: Subject, examination: Examination): Promise<void>;
}

/** One line of an error, for `seen`: those of clients may have several, or only a code. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  const own = error.message.split("\n")[0]?.trim() ?? "";
  const code = (error as NodeJS.ErrnoException).code;
  const text = own === "" ? (typeof code === "string" ? code : error.name) : own;
  return inner instanceof Error && !text.includes(inner.message) ? `${text}: ${reasonOf(inner)}` : text;
}

/** A share of a whole, for people. */
export const percent = (part: number, whole: number): string => `${Math.round((part / whole) * 100)} %`;

/** Bytes for people: `512 MiB`. */
export function bytesText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
