import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { AddressReading } from "../../../verification/address/addresses-in.ts";
import type { Scope } from "../../../verification/evidence.ts";
import type { MalformedReason } from "../../../verification/verdict/verdict.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";

/** The team's and the operator's lists for a domain, and the scope of the question. */
export interface DomainStanding {
  readonly blocked: boolean;
  /** The team's overrides, or the operator's, call the domain disposable: no server is asked. */
  readonly overridden: boolean;
  readonly scope: Scope;
}

/** One address as a team asks about it. */
export interface AddressQuestion extends DomainStanding {
  teamId: string;
  /** The text as given, with any text around the address. */
  email: string;
  withEvidence: boolean;
  /** The caller asked for no probe. */
  declined?: boolean;
  /** null: badly formed. */
  address: ParsedAddress | null;
  /** `email` has more in it than the address. */
  unwrapped: boolean;
  /** The reason why there is no address, and the number of addresses if there are several. */
  malformed: MalformedText | null;
  /** Set after a look into memory that found nothing: memory need not be asked again before Redis is. */
  isMemoryMiss?: boolean;
  /** The finding, if it was requested before the token and the unit were taken; absent: it was not. */
  found?: Promise<EvidenceFinding>;
}

export interface MalformedText {
  readonly reason: MalformedReason;
  /** 0, but for `several_addresses`. */
  readonly addresses: number;
}

const EMPTY: MalformedText = { reason: "empty", addresses: 0 };
const NO_ADDRESS: MalformedText = { reason: "invalid_format", addresses: 0 };

/** null: there is one address. */
export function malformedTextOf(reading: AddressReading): MalformedText | null {
  if (reading.kind === "one") return null;
  if (reading.kind === "several") return { reason: "several_addresses", addresses: reading.texts.length };
  return reading.kind === "empty" ? EMPTY : NO_ADDRESS;
}
