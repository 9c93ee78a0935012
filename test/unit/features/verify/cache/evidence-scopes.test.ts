import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createEvidenceCache } from "../../../../../src/features/verify/cache/evidence-cache.ts";
import type { RedisClient } from "../../../../../src/stores/redis.ts";
import { EVIDENCE_CODEC } from "../../../../../src/verification/evidence/model.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { silentLog } from "../../../../support/store.ts";

const ADDRESS = "user@one.test";

function openCache() {
  const clock = createFakeClock(1_800_000_000_000);
  const redis = { defineCommand() {} } as unknown as RedisClient;
  const cache = createEvidenceCache({ codec: EVIDENCE_CODEC, redis, clock, log: silentLog, maxEntries: 10 });
  // For this process alone: nothing is written to Redis.
  const keep = (scope: "probed" | "unprobed") => {
    const evidence = evidenceWith(scope === "probed" ? { smtp: smtpWith() } : {});
    cache.store(scope, ADDRESS, { evidence, storedAt: clock.now(), ttlS: 60 }, false);
  };
  /** For each scope, whether its cached evidence comes from a probe; null: nothing is cached. */
  const seen = () =>
    (["probed", "unprobed"] as const).map((scope) => {
      const entry = cache.peek(scope, ADDRESS);
      return entry === undefined ? null : entry.evidence.smtp !== null;
    });
  return { keep, seen };
}

const NOTHING = null;
const PROBED = true;
const UNPROBED = false;

describe("what is known of an address by a probe and without one", () => {
  it("is separate: results of probes are not seen without probing, nor the other way round", () => {
    const probed = openCache();
    probed.keep("probed");
    assert.deepEqual(probed.seen(), [PROBED, NOTHING]);
    const unprobed = openCache();
    unprobed.keep("unprobed");
    assert.deepEqual(unprobed.seen(), [NOTHING, UNPROBED]);
  });

  it("is kept side by side", () => {
    const { keep, seen } = openCache();
    keep("probed");
    keep("unprobed");
    assert.deepEqual(seen(), [PROBED, UNPROBED]);
  });
});
