import * as v from "valibot";

/**
 * The verification result of the interface specification, written from its table alone, without the code under test.
 * Additional fields are allowed; a missing or mistyped one fails.
 */
export const ContractResult = v.looseObject({
  verdict: v.picklist(["valid", "invalid", "risky", "unknown"]),
  risk_score: v.pipe(v.number(), v.integer()),
  checks: v.looseObject({
    format: v.looseObject({ ok: v.boolean() }),
    mx: v.looseObject({ ok: v.boolean(), hosts: v.array(v.string()) }),
    disposable: v.looseObject({ is_disposable: v.boolean(), source: v.string() }),
    role: v.looseObject({ is_role: v.boolean(), role: v.nullable(v.string()) }),
    smtp: v.looseObject({
      ok: v.boolean(),
      code: v.pipe(v.number(), v.integer()),
      latency_ms: v.pipe(v.number(), v.integer()),
    }),
    reputation: v.looseObject({
      score: v.pipe(v.number(), v.integer()),
      risk: v.picklist(["low", "medium", "high"]),
      signals: v.array(v.string()),
    }),
  }),
  cached: v.boolean(),
  cache_ttl_seconds: v.pipe(v.number(), v.integer()),
  verified_at: v.pipe(v.string(), v.isoTimestamp(), v.endsWith("Z")),
});

/** Fields that `API.md` adds to the result. */
export const AdditiveResult = v.looseObject({
  email: v.string(),
  normalized_email: v.nullable(v.string()),
  reason: v.string(),
  did_you_mean: v.nullable(v.string()),
  cache_expires_at: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
  livemode: v.boolean(),
  checks: v.looseObject({
    mx: v.looseObject({
      provider: v.nullable(v.string()),
      records: v.array(v.object({ host: v.string(), preference: v.pipe(v.number(), v.integer()) })),
    }),
    alias: v.looseObject({
      is_alias: v.boolean(),
      kind: v.nullable(v.string()),
      service: v.nullable(v.string()),
    }),
    free_provider: v.looseObject({ is_free_provider: v.boolean() }),
    smtp: v.looseObject({
      status: v.string(),
      catch_all: v.picklist(["accepted", "refused", "inconclusive", "not_probed"]),
      enhanced_code: v.nullable(v.string()),
      fault: v.nullable(v.picklist(["recipient", "their_server", "our_address", "our_network", "ours"])),
    }),
  }),
});

/** The error body of RFC 9457 with our members. */
export const ContractProblem = v.looseObject({
  type: v.string(),
  title: v.string(),
  status: v.pipe(v.number(), v.integer()),
  detail: v.string(),
  code: v.pipe(v.string(), v.regex(/^[a-z0-9_]+$/)),
  request_id: v.string(),
});
