import type { DomainEvidence } from "./evidence/fields.ts";

/** Parts of evidence; their fields are in `evidence/fields`. */
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
 * Behaviour of a check at a busy site: `single` queues until its time is up; `bulk` leaves at once when the queue is long;
 * `patient` queues for as long as it takes, since the wait does not count against its time.
 */
export type CheckMode = "single" | "bulk" | "patient";

/** Which of the signals there may be are asked for. */
export interface RequestedSignals {
  spf: boolean;
  dmarc: boolean;
}

/** True when all requested signals were answered in time. Blocklists cannot be judged so: a silent one lists no domain. */
export function areSignalsComplete({ spf, dmarc }: DomainEvidence, asked: RequestedSignals): boolean {
  return (spf !== null || !asked.spf) && (dmarc !== null || !asked.dmarc);
}
