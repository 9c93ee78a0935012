import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Evidence } from "../../../../src/check/evidence.ts";
import { ROWS } from "../../../../src/check/verdict/table.ts";
import { deferrable } from "../../../../src/services/verify/deferrable.ts";

function saying(reply: string, retryAfterS: number | null = null): Evidence {
  return {
    v: 2,
    mx: { status: "ok", hosts: ["mx.one.test"], provider: null, ttlS: 60, fault: null },
    disposable: { listed: false, source: "none" },
    role: null,
    freeProvider: false,
    smtp: {
      class: "greylisted",
      fault: "their_server",
      stage: "rcpt",
      code: 450,
      enhancedCode: "4.2.0",
      reply,
      rule: "greylist",
      mxHost: "mx.one.test",
      path: "direct",
      trusted: true,
      retryAfterS,
      latencyMs: 1,
      tls: false,
      catchAll: "not_probed",
    },
  };
}

describe("what may be asked about again later", () => {
  it("is who was put off, and who stands at a site that blocks us; nothing else", () => {
    const reasons = Object.values(ROWS).map(({ reason }) => reason);
    const found = [...new Set(reasons)].filter((reason) => deferrable({ reason }, null) !== null);
    assert.deepEqual(found.sort(), ["greylisted", "rate_limited_by_server", "sender_blocked"]);
  });

  it("says how long the server wants us to wait, where it does", () => {
    const evidence = saying("450 4.2.0 Greylisted", 300);
    assert.deepEqual(deferrable({ reason: "greylisted" }, evidence), {
      reason: "greylisted",
      retryAfterS: 300,
      parked: false,
    });
    assert.deepEqual(deferrable({ reason: "sender_blocked" }, saying("554 5.7.1 go away")), {
      reason: "sender_blocked",
      retryAfterS: null,
      parked: false,
    });
  });

  it("tells who was not asked, since the site blocks us, and when it is asked again", () => {
    const said = saying("");
    const smtp = said.smtp === null ? null : { ...said.smtp, rule: "breaker_open", retryAfterS: 42 };
    assert.deepEqual(deferrable({ reason: "sender_blocked" }, { ...said, smtp }), {
      reason: "sender_blocked",
      retryAfterS: 42,
      parked: true,
    });
  });
});
