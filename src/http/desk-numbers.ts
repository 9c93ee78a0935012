import type { Desk } from "../services/verify/ready-answers.ts";
import type { LimitNumbers } from "./answer-head.ts";

/** What is left at a credential's places, for `RateLimit`. */
export function readNumbers(
  { rate, quota }: Pick<Desk, "rate" | "quota">,
  nowMs: number,
  into: LimitNumbers,
): void {
  into.rate = rate.remaining(nowMs);
  into.rateResetS = rate.resetS(nowMs, into.rate);
  into.quota = quota.remaining(nowMs);
  into.quotaResetS = quota.resetS(nowMs);
}
