import type { CredentialHandle } from "../services/verify/ready-answers.ts";
import type { RateLimitNumbers } from "./head-template.ts";

/** What is left at a credential's places, for `RateLimit`. */
export function readNumbers(
  { rate, quota }: Pick<CredentialHandle, "rate" | "quota">,
  nowMs: number,
  into: RateLimitNumbers,
): void {
  into.rate = rate.remaining(nowMs);
  into.rateResetS = rate.resetS(nowMs, into.rate);
  into.quota = quota.remaining(nowMs);
  into.quotaResetS = quota.resetS(nowMs);
}
