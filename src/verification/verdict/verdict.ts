import type { ParsedAddress } from "../address/address.ts";
import type { Evidence, SmtpEvidence } from "../evidence.ts";
import { type Reputation, reputationOf } from "./reputation.ts";
import {
  type Reason,
  VERDICT_ROWS,
  type Verdict,
  type VerdictFault,
  type VerdictRow,
  type VerdictRowId,
} from "./table.ts";

/** Reasons why a text cannot be verified as an address. */
export type MalformedReason = "empty" | "several_addresses" | "invalid_format";

export interface DecideInput {
  /** null: the address is badly formed. */
  address: ParsedAddress | null;
  /** Reason for a malformed address; absent: `invalid_format`. */
  malformed?: MalformedReason | null;
  /** null: the check did not end, `failure` says why; or there was nothing to check (bad format, blocklist). */
  evidence: Evidence | null;
  failure: "deadline" | "internal_error" | null;
  /** The tier probes mailboxes. Where it does not, SMTP evidence is not looked at, even if another team's check produced it. */
  probing: boolean;
  /** The caller asked for no probe (`probe=false`): the reason for its absence, on any tier. */
  declined?: boolean;
  /** The domain is on the team's blocklist. */
  blocked: boolean;
}

export interface Decision {
  row: VerdictRowId;
  verdict: Verdict;
  reason: Reason;
  fault: VerdictFault | null;
  /** 0 to 100: `valid` at most 30, `risky` and `unknown` 31 to 79, `invalid` 80 and more. */
  riskScore: number;
  reputation: Reputation;
}

const BANDS: Record<Verdict, readonly [min: number, max: number]> = {
  valid: [0, 30],
  risky: [31, 79],
  unknown: [31, 79],
  invalid: [80, 100],
};

/** Risk added for each lost point of reputation: signals shift a verdict's score, but do not decide it. */
const RISK_PER_PENALTY = 0.25;

/**
 * The one place that draws a verdict: pure, the first row of the table that applies. Same input, same answer, so that
 * cached evidence serves every tier and every team.
 */
export function decide(input: DecideInput): Decision {
  const reputation = reputationOf(input.address, input.evidence);
  const row = chooseRow(input, reputation);
  const { verdict, reason, fault, baseRisk }: VerdictRow & { reason: Reason } = VERDICT_ROWS[row];
  const [min, max] = BANDS[verdict];
  const risk = Math.round(baseRisk + (100 - reputation.score) * RISK_PER_PENALTY);
  return {
    row,
    verdict,
    reason,
    fault: knownFault(row, input.evidence) ?? fault,
    riskScore: Math.min(max, Math.max(min, risk)),
    reputation,
  };
}

function chooseRow(input: DecideInput, reputation: Reputation): VerdictRowId {
  const { address, evidence, probing, blocked } = input;
  if (address === null) return input.malformed ?? "invalid_format";
  if (blocked) return "blocklisted_domain";
  if (evidence === null) return input.failure ?? "internal_error";
  const { status } = evidence.mx;
  if (status === "skipped") return unansweredRow(input, evidence, reputation);
  if (status !== "ok" && status !== "implicit" && status !== "dns_error") return status;
  if (evidence.disposable.listed) return "disposable_domain";
  if (status === "dns_error") return knownWithoutDns(evidence, reputation) ?? status;
  if (!probing) return unprobedRow(evidence, reputation, input.declined === true);
  if (evidence.smtp === null) return input.failure ?? "internal_error";
  return smtpRow(evidence, evidence.smtp, reputation);
}

/** The row when neither a mail server nor a name server has answered yet. */
function unansweredRow(
  { failure, probing }: DecideInput,
  evidence: Evidence,
  reputation: Reputation,
): VerdictRowId {
  if (failure === "deadline" && evidence.disposable.listed) return "disposable_domain";
  const known = failure === "deadline" && !probing ? knownWithoutDns(evidence, reputation) : null;
  return known ?? failure ?? "internal_error";
}

/** The row that is certain without the DNS, from the lists and the address itself. */
function knownWithoutDns({ role }: Evidence, { risk }: Reputation): VerdictRowId | null {
  if (role !== null) return "unprobed_role";
  return risk === "high" ? "unprobed_low_reputation" : null;
}

function unprobedRow(evidence: Evidence, reputation: Reputation, declined: boolean): VerdictRowId {
  const known = knownWithoutDns(evidence, reputation);
  if (known !== null) return known;
  return declined ? "smtp_not_requested" : "smtp_not_in_tier";
}

function smtpRow(evidence: Evidence, smtp: SmtpEvidence, reputation: Reputation): VerdictRowId {
  if (smtp.class === "accepted") return acceptedRow(evidence, smtp, reputation);
  const condemns = smtp.class === "mailbox_not_found" || smtp.class === "mailbox_disabled";
  // Whatever a rule says: before RCPT, or by another's fault, nothing was learnt about the recipient.
  if (condemns && (smtp.stage !== "rcpt" || smtp.fault !== "recipient")) return "refused_by_policy";
  // Nor while our sender identity is not in order: a server that finds us suspicious may say anything.
  if (condemns && !smtp.trusted) return "sender_blocked";
  return smtp.class;
}

function acceptedRow(evidence: Evidence, smtp: SmtpEvidence, reputation: Reputation): VerdictRowId {
  if (smtp.catchAll === "accepted") return "catch_all";
  // `252 Cannot VRFY user, but will accept message` (RFC 5321, 3.5.3): the server does not know.
  if (smtp.code === 252) return "catch_all_unconfirmed";
  // Not asked is not the same as refused: without the second answer the first one proves nothing.
  if (smtp.catchAll !== "refused") return "catch_all_unconfirmed";
  if (evidence.role !== null) return "role_address";
  return reputation.risk === "high" ? "low_reputation" : "accepted_mailbox";
}

/** The fault of a failure in DNS or network, which only the evidence knows. */
function knownFault(row: VerdictRowId, evidence: Evidence | null): VerdictFault | null {
  if (row === "dns_error") return evidence?.mx.fault ?? null;
  const onTheWay = row === "timeout" || row === "no_connect" || row === "smtp_protocol_error";
  return onTheWay ? (evidence?.smtp?.fault ?? null) : null;
}

const GIVEN_BACK: ReadonlySet<string> = new Set(
  Object.values(VERDICT_ROWS)
    .filter((row: VerdictRow) => row.givenBack)
    .map((row) => row.reason),
);

/** True for reasons that are free of charge: `unknown` by a failure, ours or theirs. */
export function isUncharged(reason: Reason): boolean {
  return GIVEN_BACK.has(reason);
}

/**
 * Seconds that evidence which ended in `decision` may be kept; 0: not at all.
 * @param mxTtlS TTL of the MX answer; bounds the rows that rest on it alone
 * @param overrides the operator's seconds by reason
 */
export function evidenceLifetimeS(
  decision: Pick<Decision, "row">,
  mxTtlS: number,
  overrides: Partial<Record<Reason, number>> = {},
): number {
  const { keptS, reason, dnsTtlBound }: VerdictRow & { reason: Reason } = VERDICT_ROWS[decision.row];
  if (keptS === 0) return 0;
  const wantedS = overrides[reason] ?? keptS;
  return dnsTtlBound ? Math.min(wantedS, mxTtlS) : wantedS;
}
