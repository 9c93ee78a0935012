import type { Fault } from "../evidence.ts";

export type Verdict = "valid" | "invalid" | "risky" | "unknown";

/** `ours`: our service itself, its deadline or a bug. Evidence never has it, only a check that did not end. */
export type VerdictFault = Fault | "ours";

export interface VerdictRow {
  verdict: Verdict;
  reason: string;
  /** The party at fault, in general; where evidence knows better (`our_network` for a silence), evidence wins. */
  fault: VerdictFault | null;
  /** Seconds the evidence is kept; 0: not at all. */
  keptS: number;
  /** Never kept longer than the DNS allows. */
  dnsTtlBound?: true;
  /** Ended `unknown` by failure: the unit of quota is given back. */
  givenBack?: true;
  /** Risk score before signals; the verdict's band bounds the sum. */
  baseRisk: number;
}

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/**
 * The verdict table: one row for each end of a check, in the order in which `decide` tests them. docs/verdicts.md shows the
 * same table to readers; a test compares the two.
 */
export const VERDICT_ROWS = {
  empty: row("unknown", "empty", null, 0, 50),
  several_addresses: row("invalid", "several_addresses", "recipient", 0, 100),
  invalid_format: row("invalid", "invalid_format", "recipient", 0, 100),
  blocklisted_domain: row("risky", "blocklisted_domain", null, 0, 79),
  domain_not_found: { ...row("invalid", "domain_not_found", "recipient", HOUR_S, 100), dnsTtlBound: true },
  no_mx: { ...row("invalid", "no_mx", "recipient", HOUR_S, 97), dnsTtlBound: true },
  null_mx: { ...row("invalid", "null_mx", "recipient", HOUR_S, 100), dnsTtlBound: true },
  mx_unresolvable: { ...row("invalid", "mx_unresolvable", "recipient", HOUR_S, 97), dnsTtlBound: true },
  disposable_domain: row("risky", "disposable_domain", "recipient", DAY_S, 75),
  unprobed_role: row("risky", "role_address", null, 0, 50),
  unprobed_low_reputation: row("risky", "low_reputation", null, 0, 60),
  dns_error: failure("dns_error", "their_server", 5 * MINUTE_S, 55),
  smtp_not_requested: row("unknown", "smtp_not_requested", null, 0, 35),
  smtp_not_in_tier: row("unknown", "smtp_not_in_tier", null, 0, 35),
  mailbox_not_found: row("invalid", "mailbox_not_found", "recipient", DAY_S, 97),
  mailbox_disabled: row("invalid", "mailbox_disabled", "recipient", DAY_S, 93),
  mailbox_full: row("risky", "mailbox_full", "recipient", HOUR_S, 65),
  refused_by_policy: row("unknown", "refused_by_policy", "their_server", HOUR_S, 55),
  sender_blocked: failure("sender_blocked", "our_address", 5 * MINUTE_S, 50),
  greylisted: failure("greylisted", "their_server", 10 * MINUTE_S, 45),
  rate_limited_by_server: failure("rate_limited_by_server", "their_server", 5 * MINUTE_S, 45),
  smtp_protocol_error: failure("smtp_protocol_error", "their_server", 5 * MINUTE_S, 55),
  no_connect: failure("no_connect", "their_server", 5 * MINUTE_S, 65),
  timeout: failure("timeout", "their_server", 5 * MINUTE_S, 55),
  our_network: failure("our_network", "our_network", 30, 50),
  provider_unverifiable: row("unknown", "provider_unverifiable", "their_server", 12 * HOUR_S, 45),
  catch_all: row("risky", "catch_all", null, 12 * HOUR_S, 55),
  catch_all_unconfirmed: row("risky", "catch_all_unconfirmed", null, HOUR_S, 45),
  role_address: row("risky", "role_address", null, DAY_S, 40),
  low_reputation: row("risky", "low_reputation", null, DAY_S, 50),
  accepted_mailbox: row("valid", "accepted_mailbox", null, DAY_S, 3),
  deadline: failure("deadline", "ours", 0, 50),
  internal_error: failure("internal_error", "ours", 0, 50),
} as const satisfies Record<string, VerdictRow>;

export type VerdictRowId = keyof typeof VERDICT_ROWS;
export type Reason = (typeof VERDICT_ROWS)[VerdictRowId]["reason"];

function row<const R extends string>(
  verdict: Verdict,
  reason: R,
  fault: VerdictFault | null,
  keptS: number,
  baseRisk: number,
) {
  return { verdict, reason, fault, keptS, baseRisk };
}

function failure<const R extends string>(reason: R, fault: VerdictFault, keptS: number, baseRisk: number) {
  return { ...row("unknown", reason, fault, keptS, baseRisk), givenBack: true as const };
}
