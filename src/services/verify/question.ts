import type { ParsedAddress } from "../../check/address.ts";
import type { Scope } from "../../check/evidence.ts";

/** What a team, or the operator, says of a domain, and in which scope it is asked about. */
export interface Standing {
  readonly blocked: boolean;
  /** The team's overrides, or the operator's, call the domain disposable: nobody is asked. */
  readonly overridden: boolean;
  readonly scope: Scope;
}

/** One address as a team asks about it. */
export interface Question extends Standing {
  teamId: string;
  /** As it was written. */
  email: string;
  withEvidence: boolean;
  /** The caller asked for no probe. */
  declined?: boolean;
  /** null: badly formed. */
  address: ParsedAddress | null;
  /** Noted by who looked: memory had nothing of it, and need not be asked again before Redis is. */
  missed?: boolean;
  /** Whole monotonic milliseconds at which Redis was asked, and had nothing of it either; absent or negative: nothing is known of that. */
  soughtMs?: number;
  /** Its bytes said enough: a plain cell (`kindOfCell`), the local part ordinary (`isOrdinaryLocal`). */
  ordinary?: boolean;
}

/**
 * `Question.soughtMs` of one that Redis was not asked for. A small integer, as is what takes its place in the first 24 days of a process:
 * another number is an object for each row.
 */
export const NOT_SOUGHT = -1;
