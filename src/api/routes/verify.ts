import type * as v from "valibot";
import type { EarlyAdmission } from "../../features/verify/answer/early-admission.ts";
import type { VerificationResult } from "../../features/verify/answer/verification-result.ts";
import type { VerifyAddress } from "../../features/verify/answer/verify-address.ts";
import type { VerifyInput } from "../../features/verify/answer/verify-input.ts";
import { teamRoute } from "../routing/route.ts";
import { VerificationResultSchema, VerifyQuerySchema } from "../schemas/verification.ts";

type Query = v.InferOutput<typeof VerifyQuerySchema>;

const verifyInputOf = ({ email, refresh, evidence, probe }: Query): VerifyInput => ({
  email,
  refresh,
  withEvidence: evidence,
  probe,
});

export const verificationExample: VerificationResult = {
  email: "someone@example.com",
  normalized_email: "someone@example.com",
  verdict: "valid",
  reason: "accepted_mailbox",
  risk_score: 3,
  did_you_mean: null,
  checks: {
    format: { ok: true },
    mx: {
      ok: true,
      hosts: ["mx1.example.com", "mx2.example.com"],
      records: [
        { host: "mx1.example.com", preference: 10 },
        { host: "mx2.example.com", preference: 20 },
      ],
      provider: null,
      status: "ok",
    },
    disposable: { is_disposable: false, source: "none", status: "checked" },
    alias: { is_alias: false, kind: null, service: null, status: "checked" },
    free_provider: { is_free_provider: false, status: "checked" },
    role: { is_role: false, role: null, status: "checked" },
    smtp: {
      ok: true,
      code: 250,
      latency_ms: 84,
      status: "accepted",
      catch_all: "refused",
      enhanced_code: "2.1.5",
      fault: null,
    },
    reputation: { score: 100, risk: "low", signals: [], status: "checked" },
  },
  cached: false,
  cache_ttl_seconds: 86_400,
  cache_expires_at: "2026-01-02T00:00:00.000Z",
  verified_at: "2026-01-01T00:00:00.000Z",
  retry_at: null,
  livemode: true,
};

/** @param admission asked before the token */
export function createVerifyRoute(
  verify: VerifyAddress,
  admission: Pick<EarlyAdmission, "mayRefuse" | "refusal" | "enter">,
) {
  return teamRoute({
    method: "GET",
    path: "/v1/verify",
    operationId: "verifyAddress",
    summary: "Verify one address",
    description:
      "Answers whether an address takes mail, from the cache or by asking its mail server, within the deadline. " +
      "Each answer is charged, so HEAD is not allowed.",
    tag: "verification",
    role: "member",
    rate: "verify",
    errors: ["unavailable_in_tier", "quota_exceeded", "unavailable"],
    query: VerifyQuerySchema,
    success: {
      status: 200,
      description: "The result",
      schema: VerificationResultSchema,
      example: verificationExample,
    },
    early: {
      refuse(actor, { startedMs }, read) {
        if (!admission.mayRefuse(startedMs)) return null;
        return admission.refusal(actor, startedMs, () => {
          const input = read();
          return input === null ? null : verifyInputOf(input.query);
        });
      },
      enter: ({ query }, actor, context) => admission.enter(verifyInputOf(query), actor, context),
    },
    handler: ({ query }, actor, context) => verify(verifyInputOf(query), actor, context),
  });
}
