import type { Config, ConfigDiagnosis } from "../../config/config.ts";
import type { Clock } from "../../platform/time/clock.ts";

/** `warn`: it works, but not always or not as well as it could. `skipped`: `seen` says why. */
export type FindingState = "ok" | "warn" | "fail" | "skipped";

/** The finding of one check of the doctor. No sentence may contain a secret; any that does is masked before output. */
export interface DoctorFinding {
  /** A few words, e.g. `migrations`. */
  check: string;
  state: FindingState;
  /** A sentence: the finding, or why the check was skipped. */
  seen: string;
  /** A sentence: what to do; "" for nothing. */
  advice: string;
}

export const ok = (check: string, seen: string): DoctorFinding => ({ check, state: "ok", seen, advice: "" });
export const warn = (check: string, seen: string, advice: string): DoctorFinding => ({
  check,
  state: "warn",
  seen,
  advice,
});
export const fail = (check: string, seen: string, advice: string): DoctorFinding => ({
  check,
  state: "fail",
  seen,
  advice,
});
export const skipped = (check: string, seen: string): DoctorFinding => ({
  check,
  state: "skipped",
  seen,
  advice: "",
});

/** The subject of the examination. */
export interface DoctorSubject {
  diagnosis: ConfigDiagnosis;
  config: Config;
  clock: Clock;
  /** Services of third parties may be called too (`--online`). */
  online: boolean;
}

/** A running examination of one group. */
export interface Examination {
  /** Findings count even when the group fails or times out later. */
  note(...findings: DoctorFinding[]): void;
  /** Runs when the group has ended or timed out: latest first, each independent of the others. */
  atEnd(close: () => unknown): void;
}

/** Checks that belong together and need the same connection. */
export interface DoctorGroup {
  name: string;
  title: string;
  examine(subject: DoctorSubject, examination: Examination): Promise<void>;
}

/** An error as one line, for `seen`: errors of clients may have several lines, or only a code. */
export function errorLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  const own = error.message.split("\n")[0]?.trim() ?? "";
  const code = (error as NodeJS.ErrnoException).code;
  const text = own === "" ? (typeof code === "string" ? code : error.name) : own;
  return inner instanceof Error && !text.includes(inner.message) ? `${text}: ${errorLine(inner)}` : text;
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
