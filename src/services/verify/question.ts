import type { ParsedAddress } from "../../check/address.ts";
import type { Scope } from "../../check/evidence.ts";

/** One address as a team asks about it. */
export interface Question {
  teamId: string;
  /** As it was written. */
  email: string;
  withEvidence: boolean;
  /** null: badly formed. */
  address: ParsedAddress | null;
  blocked: boolean;
  /** The team's overrides, or the operator's, call the domain disposable: nobody is asked. */
  overridden: boolean;
  scope: Scope;
  /** Noted by who looked: memory had nothing of it, and need not be asked again before Redis is. */
  missed?: boolean;
}
