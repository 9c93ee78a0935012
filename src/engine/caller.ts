import type { CheckMode, Evidence } from "../verification/evidence.ts";
import type { CheckTrace } from "./check-times.ts";

/** What a check brings: the evidence; null: nobody waits any more; `busy`: see `CheckEngine`. */
export type EngineResult = Evidence | "busy" | null;

export interface CheckControl {
  readonly mode: CheckMode;
  cancelled(): boolean;
  /** Told each site before it is asked. */
  onSite(site: string): void;
}

/** Who has an address checked, and hears what that brought, or why it broke: once. */
export interface CheckCaller extends CheckControl {
  /** Where it is taken down how the check goes; null, absent: nowhere. */
  readonly trace?: CheckTrace | null;
  onChecked(found: EngineResult): void;
  onError(error: unknown): void;
}
