import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BreakerEvent } from "../../../../src/egress/breaker/authority.ts";
import { breakerNotice, recoveryNotice } from "../../../../src/egress/breaker/notices.ts";

const NOW = Date.UTC(2026, 0, 1, 10, 30, 0);
const EVENT: BreakerEvent = {
  way: { site: "example.com", path: "192.0.2.1", domain: "", provider: null },
  openForMs: 0,
  dueInMs: 60_000,
  reply: "554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org.",
  isLocal: true,
};

describe("notices about breakers to the operator", () => {
  it("has the site that blocks us, its reply, and until when", () => {
    assert.equal(
      breakerNotice("opened", EVENT, NOW),
      "example.com (192.0.2.1) blocks us: 554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org. " +
        "Nothing is asked there until 10:31:00 UTC; single requests answer unknown/sender_blocked, rows of jobs wait.",
    );
  });

  it("is for how long now, when a trial was blocked; a customer's domain, where only that blocks us", () => {
    const way = { site: "google", path: "direct", domain: "a.example", provider: "google" };
    const event = { ...EVENT, way, openForMs: 900_000, dueInMs: 900_000, reply: "550 5.7.1 no" };
    assert.equal(
      breakerNotice("reopened", event, NOW),
      "a.example at google still blocks us, for 15 min now: 550 5.7.1 no. It is tried again at 10:45:00 UTC.",
    );
  });

  it("is how long it was, and how many rows waited where rows do", () => {
    const event = { ...EVENT, openForMs: 90_000 };
    assert.equal(recoveryNotice(event, null), "example.com (192.0.2.1) lets us in again, after 90 s.");
    assert.equal(
      recoveryNotice({ ...event, openForMs: 9_000_000 }, 120),
      "example.com (192.0.2.1) lets us in again, after 2.5 h; 120 rows of jobs that waited are asked now.",
    );
  });
});
