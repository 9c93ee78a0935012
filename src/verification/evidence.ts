import type { DomainEvidence } from "./evidence/fields.ts";

/** What evidence is made of; its fields are in `evidence/fields`. */
export type {
  CatchAll,
  DomainEvidence,
  EvidenceParts,
  Fault,
  MxEvidence,
  MxStatus,
  SmtpClass,
  SmtpEvidence,
} from "./evidence/fields.ts";
export type { Evidence } from "./evidence/model.ts";
export { evidenceBut, evidenceOf } from "./evidence/model.ts";

/** How far a check may go: `unprobed` ends before SMTP (tiers without probing, blocklisted domains). */
export type Scope = "probed" | "unprobed";

/**
 * How a check meets a busy site: `single` waits its turn until its time is up; `bulk` leaves at once when the line is
 * long; `patient` stands in line for as long as it takes, since that is not against its time.
 */
export type CheckMode = "single" | "bulk" | "patient";

/** Which of the signals there may be are asked for. */
export interface RequestedSignals {
  spf: boolean;
  dmarc: boolean;
}

/**
 * Whether all that was asked for was answered, and in time. Of blocklists this cannot be said: a silent one lists no
 * domain.
 */
export function areSignalsComplete({ spf, dmarc }: DomainEvidence, asked: RequestedSignals): boolean {
  return (spf !== null || !asked.spf) && (dmarc !== null || !asked.dmarc);
}
