import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Evidence } from "../../../../src/check/evidence.ts";
import { ROWS } from "../../../../src/check/verdict/table.ts";
import { deferrable, delayNamed } from "../../../../src/services/verify/deferrable.ts";

function saying(reply: string): Evidence {
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
      retryAfterS: null,
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
    const evidence = saying("450 4.2.0 Greylisted, try again in 5 minutes");
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

  it("reads delays as servers write them", () => {
    const said: [string, number | null][] = [
      ["450 4.2.0 <x>: Recipient address rejected: Greylisted for 300 seconds", 300],
      ["451 4.7.1 Greylisting in action, please come back in 00:04:59", 299],
      ["451 4.7.1 Greylisting in action, please come back after 01:00:00", 3_600],
      ["451 4.7.1 try again in about 2 hours", 7_200],
      ["421 4.7.0 too many connections, please wait 60s", 60],
      ["451 rejected, retry=120s", 120],
      ["450 try again in 999999 hours", 86_400],
      ["450 4.2.0 Greylisted, try again later", null],
      ["450 4.7.1 for 2 recipients; listed at 192.0.2.1", null],
      ["451 4.3.0 connections from 10 m servers", null],
      ["", null],
    ];
    for (const [reply, seconds] of said) assert.equal(delayNamed(reply), seconds, reply);
  });
});
