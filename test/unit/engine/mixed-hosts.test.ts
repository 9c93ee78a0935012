import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import type { Evidence } from "../../../src/verification/evidence.ts";
import { engine, OK, type Reply, replied, UNKNOWN } from "../../support/check-engine.ts";

/**
 * A domain may name a provider's host beside its own: the behaviour of its own host must not count against the
 * provider.
 */
const DNSBL = "Service unavailable; Client host [192.0.2.9] blocked using zen.spamhaus.org";
const early = (outcome: RcptOutcome) => ({ ...outcome, stage: "mail" }) as RcptOutcome;
const BLOCKED = early(replied(554, "5.7.1", DNSBL));
const FIRSTS = [
  {
    provider: "microsoft365",
    dead: "nx-1.mail.protection.outlook.com",
    live: "victim.mail.protection.outlook.com",
  },
  { provider: "google", dead: "nx.aspmx.l.google.com", live: "aspmx.l.google.com" },
];
const OWN = "mx.evil.example";

type Made = ReturnType<typeof engine>;

async function asked(
  made: Made,
  address: string,
): Promise<Evidence & { smtp: NonNullable<Evidence["smtp"]> }> {
  const evidence = await made.askAbout(address, "single");
  assert.ok(evidence !== null && evidence !== "busy" && evidence.smtp !== null);
  return evidence as Evidence & { smtp: NonNullable<Evidence["smtp"]> };
}

/** `evil.example` names a dead host of the provider first, its own second. */
function mixed({ dead, live }: (typeof FIRSTS)[0], own: (address: string) => RcptOutcome) {
  const reply: Reply = (address, host) => {
    if (host === OWN) return own(address);
    return address.startsWith("alice") ? OK : UNKNOWN;
  };
  const hosts = { "evil.example": [dead, OWN], "victim.example": [live] };
  return engine(reply, () => {}, { hosts, nowhere: [dead] });
}

describe("a domain that names a provider's host before its own", () => {
  for (const first of FIRSTS) {
    it(`opens no breaker of ${first.provider} when its own host blocks us`, async () => {
      const made = mixed(first, () => BLOCKED);
      for (let i = 0; i < 2 * LIMITS.breaker.blocksToOpen; i++) {
        const { mx, smtp } = await asked(made, `u${i}@evil.example`);
        assert.deepEqual([mx.provider, smtp.class, smtp.mxHost], [first.provider, "sender_blocked", OWN]);
      }
      assert.equal((await asked(made, "more@evil.example")).smtp.rule, "breaker_open");
      assert.notEqual(made.breakers.authority.waitMs("evil.example"), null);
      assert.equal(made.breakers.authority.waitMs(first.provider), null);
      assert.equal((await asked(made, "ghost@victim.example")).smtp.class, "mailbox_not_found");
    });
  }

  it("takes its own slots, under its own policy, and waits in its own queue", async () => {
    const first = FIRSTS[1] as (typeof FIRSTS)[0];
    const made = mixed(first, () => UNKNOWN);
    await asked(made, "u@evil.example");
    await asked(made, "ghost@victim.example");
    assert.deepEqual(
      made.destinations.map(({ host, site, cap, policy }) => [host, site, cap, policy.tls]),
      [
        [OWN, "evil.example", "evil.example", "opportunistic"],
        [first.live, "google", "google", "required"],
      ],
    );
    assert.deepEqual(made.sites, ["google", "evil.example", "google"]);
    assert.deepEqual(made.probes, ["null mailbox_not_found", "google mailbox_not_found"]);
  });

  it("does not make the provider untrusted: its catch-all probe is its own", async () => {
    const first = FIRSTS[1] as (typeof FIRSTS)[0];
    const made = mixed(first, () => OK);
    assert.equal((await asked(made, "u@evil.example")).smtp.catchAll, "accepted");
    assert.deepEqual([...made.stored.keys()], [`evil.example|evil.example|${OWN}`]);
  });
});

describe("a domain that names its own host before a provider's", () => {
  it("is held to the provider's cap and habits there", async () => {
    const live = "mta7.am0.yahoodns.net";
    const hosts = { "evil.example": [OWN, live] };
    const made = engine(
      () => OK,
      () => {},
      { hosts, nowhere: [OWN] },
    );
    const { mx, smtp } = await asked(made, "u@evil.example");
    assert.deepEqual([mx.provider, smtp.mxHost], [null, live]);
    assert.deepEqual([smtp.class, smtp.rule], ["provider_unverifiable", "provider_habit"]);
    assert.ok(made.destinations.every(({ site, cap }) => site === "yahoo" && cap === "yahoo"));
  });

  it("reports to the breaker of each host its own reply", async () => {
    const live = "aspmx.l.google.com";
    const greeting = { ...BLOCKED, stage: "greeting" } as RcptOutcome;
    const hosts = { "evil.example": [OWN, live] };
    const made = engine(
      (_, host) => (host === OWN ? greeting : UNKNOWN),
      () => {},
      { hosts },
    );
    for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++)
      assert.equal((await asked(made, `u${i}@evil.example`)).smtp.class, "mailbox_not_found");
    await asked(made, "next@evil.example");
    assert.deepEqual(made.asked.at(-2), "u4@evil.example aspmx.l.google.com");
    assert.deepEqual(
      made.asked.at(-1),
      "next@evil.example aspmx.l.google.com",
      "whose greeting blocks is passed by",
    );
    assert.equal(made.breakers.authority.waitMs("google"), null);
  });
});
