import { AppError } from "../../../platform/errors.ts";
import { type Clock, pause, secondsToUtcMidnight } from "../../../platform/time/clock.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import { type AddressReading, readAddresses } from "../../../verification/address/addresses-in.ts";
import {
  type Evidence,
  evidenceOf,
  type SmtpClass,
  type SmtpEvidence,
} from "../../../verification/evidence.ts";
import { withOverride } from "../../../verification/verdict/override.ts";
import { decide } from "../../../verification/verdict/verdict.ts";
import { malformedTextOf } from "./address-question.ts";
import type { VerificationAsker } from "./examine.ts";
import { renderResult } from "./render-result.ts";
import type { VerificationResult } from "./verification-result.ts";

/**
 * Answers for test keys: the local part chooses the outcome, under the tier's rules and the same verdict table. No
 * network, no cache, no quota, no thread. What follows a `+` in the local part is ignored, as is case.
 */
export interface TestKeys {
  /** @throws AppError for the outcomes `rate-limited`, `quota-exceeded` and `unavailable-in-tier` */
  answer(
    email: string,
    withEvidence: boolean,
    asker: TestAsker,
  ): VerificationResult | Promise<VerificationResult>;
}

type TestAsker = Pick<VerificationAsker, "probing" | "declined" | "overlay">;
type PretendedReply = Pick<SmtpEvidence, "class" | "code" | "enhancedCode" | "fault" | "catchAll">;

const ACCEPTED = { class: "accepted", code: 250, enhancedCode: "2.1.5", fault: null } as const;

/** The reply that each outcome pretends to have seen. `unknown`, and any other local part: silence. */
const REPLIES: ReadonlyMap<string, PretendedReply> = new Map<string, PretendedReply>([
  ["valid", { ...ACCEPTED, catchAll: "refused" }],
  ["role", { ...ACCEPTED, catchAll: "refused" }],
  ["catch-all", { ...ACCEPTED, catchAll: "accepted" }],
  ["risky", { ...ACCEPTED, catchAll: "inconclusive" }],
  ["invalid", refusal("mailbox_not_found", 550, "5.1.1", "recipient")],
  ["full", refusal("mailbox_full", 452, "4.2.2", "recipient")],
  ["greylisted", refusal("greylisted", 450, "4.2.0", "their_server")],
]);
const SILENCE = refusal("timeout", 0, null, "their_server");

function refusal(
  smtpClass: SmtpClass,
  code: number,
  enhancedCode: string | null,
  fault: SmtpEvidence["fault"],
): PretendedReply {
  return { class: smtpClass, code, enhancedCode, fault, catchAll: "not_probed" };
}

export interface TestKeysDeps {
  clock: Clock;
  slowMs: number;
  /** True when the operator marks the domain as disposable for all teams. */
  isPromoted(domain: string): boolean;
}

export function createTestKeys(deps: TestKeysDeps): TestKeys {
  const { clock, slowMs } = deps;

  function evidenceFor(address: ParsedAddress, { probing, overlay }: TestAsker): Evidence {
    const evidence = pretend(address, probing);
    const overridden = overlay.isDisposable(address.domain) || deps.isPromoted(address.domain);
    return overridden ? withOverride(evidence) : evidence;
  }

  function settled(
    email: string,
    reading: AddressReading,
    withEvidence: boolean,
    asker: TestAsker,
    failure: "deadline" | null,
  ): VerificationResult {
    const address = reading.kind === "one" ? reading.address : null;
    const malformed = malformedTextOf(reading);
    const evidence = address === null || failure ? null : evidenceFor(address, asker);
    const blocked = address !== null && asker.overlay.isBlocked(address.domain);
    const { probing, declined = false } = asker;
    const reason = malformed?.reason ?? null;
    const decision = decide({ address, malformed: reason, evidence, failure, probing, declined, blocked });
    const now = clock.now();
    const result = renderResult({
      email: address?.normalised ?? email,
      address,
      addresses: malformed?.addresses ?? 0,
      decision,
      entry: evidence === null ? null : { evidence, storedAt: now, ttlS: 0 },
      now,
      cached: false,
      livemode: false,
      withEvidence,
    });
    return reading.kind === "one" && reading.unwrapped ? { ...result, input: email } : result;
  }

  return {
    answer(email, withEvidence, asker) {
      const reading = readAddresses(email);
      refuseTestAddress(reading, clock);
      const isSlow = outcomeOf(reading) === "slow";
      const answer = () => settled(email, reading, withEvidence, asker, isSlow ? "deadline" : null);
      return isSlow ? pause(clock, slowMs).then(answer) : answer();
    },
  };
}

/**
 * Nothing, unless the outcome of an address that was read is an error: then throws it.
 * @throws AppError for `rate-limited`, `quota-exceeded` and `unavailable-in-tier`
 */
export function refuseTestAddress(reading: AddressReading, clock: Clock): void {
  const outcome = outcomeOf(reading);
  if (outcome === "rate-limited")
    throw new AppError("rate_limited", "as the test address asked", { retryAfterS: 1 });
  if (outcome === "quota-exceeded") {
    const retryAfterS = secondsToUtcMidnight(clock.now());
    throw new AppError("quota_exceeded", "as the test address asked", { retryAfterS });
  }
  if (outcome === "unavailable-in-tier")
    throw new AppError("unavailable_in_tier", "as the test address asked");
}

/** Whether `refuseTestAddress` throws. */
export function asksForError(reading: AddressReading): boolean {
  return ["rate-limited", "quota-exceeded", "unavailable-in-tier"].includes(outcomeOf(reading));
}

function outcomeOf(reading: AddressReading): string {
  return reading.kind === "one" ? outcomeOfLocal(reading.address.local) : "";
}

function outcomeOfLocal(local: string): string {
  return local.toLowerCase().replace(/\+.*$/s, "");
}

/**
 * The evidence that a check of `address` would have brought home. Where the tier does not probe, `invalid` and
 * `risky` come from what that tier can see: no mail exchanger, a role address.
 */
function pretend(address: ParsedAddress, probing: boolean): Evidence {
  const outcome = outcomeOfLocal(address.local);
  const disposable = outcome === "disposable";
  const noMx = outcome === "invalid" && !probing;
  const role = outcome === "role" || (outcome === "risky" && !probing);
  const mxHost = `mx.${address.domain}`;
  return evidenceOf({
    mx: {
      status: noMx ? "no_mx" : "ok",
      hosts: noMx ? [] : [mxHost],
      preferences: noMx ? [] : [10],
      provider: null,
      ttlS: 0,
      fault: noMx ? "recipient" : null,
    },
    disposable: { listed: disposable, source: disposable ? "test_key" : "none" },
    role: role ? "role" : null,
    freeProvider: false,
    smtp: probing && !disposable ? pretendSmtp(outcome, mxHost) : null,
  });
}

function pretendSmtp(outcome: string, mxHost: string): SmtpEvidence {
  const reply = REPLIES.get(outcome) ?? SILENCE;
  return {
    ...reply,
    stage: "rcpt",
    reply: reply.code === 0 ? "" : `${reply.code} ${reply.enhancedCode} as the test address asked`,
    rule: "test_key",
    mxHost,
    path: "direct",
    trusted: true,
    retryAfterS: null,
    latencyMs: 1,
    tls: true,
  };
}
