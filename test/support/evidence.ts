import {
  type Evidence,
  type EvidenceParts,
  evidenceOf,
  type SmtpEvidence,
} from "../../src/verification/evidence.ts";

/** Evidence of a domain with an MX of its own, not probed; `change` overrides fields. */
export function evidenceWith(change: Partial<EvidenceParts> = {}): Evidence {
  return evidenceOf({
    mx: { status: "ok", hosts: ["mx.one.test"], preferences: [10], provider: null, ttlS: 60, fault: null },
    disposable: { listed: false, source: "none" },
    role: null,
    freeProvider: false,
    smtp: null,
    ...change,
  });
}

/** SMTP evidence of an accepted recipient at a host that refused the catch-all probe; `change` overrides fields. */
export function smtpWith(change: Partial<SmtpEvidence> = {}): SmtpEvidence {
  return {
    class: "accepted",
    fault: null,
    stage: "rcpt",
    code: 250,
    enhancedCode: null,
    reply: "",
    rule: "test",
    mxHost: "mx.one.test",
    path: "direct",
    trusted: true,
    retryAfterS: null,
    latencyMs: 1,
    tls: true,
    catchAll: "refused",
    ...change,
  };
}
