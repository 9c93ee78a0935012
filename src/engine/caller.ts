import type { CheckMode, Evidence } from "../verification/evidence.ts";
import type { CheckTrace } from "./check-times.ts";

/** The result of a check: the evidence; null: the check was cancelled; `busy`: see `CheckEngine`. */
export type EngineResult = Evidence | "busy" | null;

export interface CheckControl {
  readonly mode: CheckMode;
  cancelled(): boolean;
  /** Called with each site before it is asked. */
  onSite(site: string): void;
}

/** The caller of a check. `onChecked` or `onError` is called once. */
export interface CheckCaller extends CheckControl {
  /** Receives the times of the check; null or absent: they are not recorded. */
  readonly trace?: CheckTrace | null;
  onChecked(found: EngineResult): void;
  onError(error: unknown): void;
}
