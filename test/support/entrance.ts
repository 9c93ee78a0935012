import type { CheckAdmission } from "../../src/services/verify/admission.ts";
import {
  createEarlyAdmission,
  type EarlyAdmission,
  type EarlyAdmissionDeps,
} from "../../src/services/verify/early-admission.ts";

/** `EarlyAdmission.enter` where no rate limits anybody. @param enter lets in; absent: everybody */
export function enterBy(
  examiner: unknown,
  enter: (teamId: string) => unknown = () => ({ isGuest: false, admit() {}, found() {}, leave() {} }),
): EarlyAdmission["enter"] {
  return createEarlyAdmission({
    examiner: examiner as EarlyAdmissionDeps["examiner"],
    cachedAnswers: { find: () => null },
    admission: { enter, isCrowded: () => false } as unknown as CheckAdmission,
    rateLimiter: { isRefusing: () => false, refusal: () => null, isLeased: () => true },
    quota: { prepare: () => "ready" },
    clock: { monotonic: () => 0 },
  }).enter;
}
