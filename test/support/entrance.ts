import {
  createEarlyAdmission,
  type EarlyAdmission,
  type EarlyAdmissionDeps,
} from "../../src/features/verify/answer/early-admission.ts";
import type { CheckAdmission } from "../../src/features/verify/checks/admission.ts";

/**
 * `EarlyAdmission.enter` without rate limits or quota. @param enter admits to the checks; absent: admits every request
 */
export function enterBy(
  examiner: unknown,
  enter: (teamId: string) => unknown = () => ({ admit() {}, release() {} }),
): EarlyAdmission["enter"] {
  const entrance = createEarlyAdmission({
    examiner: examiner as EarlyAdmissionDeps["examiner"],
    cachedAnswers: { find: () => null },
    admission: { enter, isAtCapacity: () => false } as unknown as CheckAdmission,
    rateLimiter: { isRefusing: () => false, refusal: () => null, isLeased: () => true },
    quota: { prepare: () => "ready" },
    clock: { monotonic: () => 0 },
  });
  return (input, actor, waiter) => entrance.enter(input, actor, waiter);
}
