import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { AttemptCounters } from "../../../../src/features/accounts/attempt-counter-sql.ts";
import {
  createLocalCounters,
  createSharedAttemptCounters,
} from "../../../../src/features/accounts/attempt-counters.ts";
import { createPortalLimits } from "../../../../src/features/accounts/portal-limits.ts";
import { clientNetwork } from "../../../../src/platform/client-network.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/store.ts";

const limits = LIMITS.portal;
const OWNER = "owner@example.com";

function setUp() {
  const clock = createFakeClock();
  return { clock, portal: createPortalLimits(createLocalCounters(clock)) };
}

/** null: admitted; else the seconds to wait. */
async function outcome(attempt: Promise<unknown>): Promise<number | null> {
  try {
    await attempt;
    return null;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === "rate_limited");
    return error.retryAfterS ?? -1;
  }
}

async function failTimes(count: number, attempt: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) assert.equal(await outcome(attempt(i)), null, `attempt ${i + 1}`);
}

const address = (i: number) => `203.0.${Math.floor(i / 250)}.${i % 250}`;

describe("sign-ins that fail", () => {
  it("stop for the pair of account and address until ten minutes after the first", async () => {
    const { clock, portal } = setUp();
    const attempt = () => portal.signIn(OWNER, "203.0.113.1");
    await failTimes(limits.signInPerPair, attempt);
    clock.advance(60_000);
    assert.equal(await outcome(attempt()), limits.signInWindowMs / 1000 - 60);
    assert.equal(await outcome(portal.signIn("other@example.com", "203.0.113.1")), null);
    assert.equal(await outcome(portal.signIn(OWNER, "203.0.113.2")), null);
    clock.advance(limits.signInWindowMs - 60_001);
    assert.equal(await outcome(attempt()), 1);
    clock.advance(1);
    assert.equal(await outcome(attempt()), null);
  });

  it("of one account count as one in any case", async () => {
    const { portal } = setUp();
    await failTimes(limits.signInPerPair, (i) =>
      portal.signIn(i % 2 === 0 ? OWNER : OWNER.toUpperCase(), "203.0.113.1"),
    );
    assert.notEqual(await outcome(portal.signIn(OWNER, "203.0.113.1")), null);
  });

  it("of addresses that are two accounts count as two", async () => {
    const { portal } = setUp();
    await failTimes(limits.signInPerPair, () => portal.signIn("\u00c9mil@example.com", "203.0.113.1"));
    assert.equal(await outcome(portal.signIn("\u00e9mil@example.com", "203.0.113.1")), null);
  });

  it("from all over stop for the account, but not where its owner has signed in before", async () => {
    const { clock, portal } = setUp();
    const home = "198.51.100.1";
    await (await portal.signIn(OWNER, home)).succeeded();
    await failTimes(limits.signInPerAccount, (i) => portal.signIn(OWNER, address(i)));
    assert.notEqual(await outcome(portal.signIn(OWNER, address(1_000))), null);
    const [there, here] = [await portal.signIn(OWNER, home), await portal.signIn("a@example.com", home)];
    assert.deepEqual([there.standing, here.standing], ["known", "unknown"]);
    clock.advance(limits.signInWindowMs);
    assert.equal(await outcome(portal.signIn(OWNER, address(1_000))), null);
  });

  it("from many addresses do not lock out a client that has proven the account otherwise", async () => {
    const { portal } = setUp();
    const home = "198.51.100.1";
    await failTimes(limits.signInPerPair, () => portal.signIn(OWNER, home));
    await failTimes(limits.signInPerAccount - limits.signInPerPair, (i) => portal.signIn(OWNER, address(i)));
    assert.notEqual(await outcome(portal.signIn(OWNER, home)), null);
    await portal.resetAfterProof(OWNER.toUpperCase(), home);
    await failTimes(limits.signInPerAccount, (i) => portal.signIn(OWNER, address(i)));
    assert.equal((await portal.signIn(OWNER, home)).standing, "known");
  });

  it("of one IPv6 site stop for the site, whatever networks of it they come from", async () => {
    const { portal } = setUp();
    const network = (i: number) => `2001:db8:1:${i.toString(16)}::1`;
    const all = limits.signInPerAddress * limits.clientsPerSite;
    await failTimes(all, (i) => portal.signIn(`a${i}@example.com`, network(i)));
    assert.notEqual(await outcome(portal.signIn("b@example.com", network(all))), null);
    assert.equal(await outcome(portal.signIn("b@example.com", "2001:db8:2::1")), null);
    const { registrationsPerAddress, resetsPerAddress, clientsPerSite } = limits;
    for (const [ask, limit] of [
      [(from: string) => portal.registration(from), registrationsPerAddress],
      [(from: string) => portal.passwordReset(from), resetsPerAddress],
    ] as const) {
      await failTimes(limit * clientsPerSite, (i) => ask(network(i)));
      assert.notEqual(await outcome(ask(network(all))), null);
    }
  });

  it("of many accounts stop for the address, which no success of its own washes clean", async () => {
    const { portal } = setUp();
    const sprayer = "203.0.113.1";
    await failTimes(limits.signInPerAddress - 1, (i) => portal.signIn(`a${i}@example.com`, sprayer));
    await (await portal.signIn("own@example.com", sprayer)).succeeded();
    for (const account of ["b@example.com", "own@example.com"])
      assert.notEqual(await outcome(portal.signIn(account, sprayer)), null);
    assert.equal(await outcome(portal.signIn("b@example.com", "203.0.113.2")), null);
  });

  it("that are refused do not count: they lock out no other client", async () => {
    const { portal } = setUp();
    await failTimes(limits.signInPerPair, () => portal.signIn(OWNER, "203.0.113.1"));
    for (let i = 0; i < limits.signInPerAccount; i++) await outcome(portal.signIn(OWNER, "203.0.113.1"));
    assert.equal(await outcome(portal.signIn(OWNER, "203.0.113.2")), null);
  });

  it("begin anew with a success", async () => {
    const { portal } = setUp();
    const attempt = () => portal.signIn(OWNER, "203.0.113.1");
    await failTimes(limits.signInPerPair - 1, attempt);
    await (await attempt()).succeeded();
    await failTimes(limits.signInPerPair, attempt);
    assert.notEqual(await outcome(attempt()), null);
  });

  it("take bounded memory", async () => {
    const clock = createFakeClock();
    const counters = createLocalCounters(clock);
    const one = (key: string) => counters.count([{ key, limit: 1, windowMs: 1_000 }]);
    assert.equal(await one("first"), 0);
    assert.equal(await one("first"), 1_000);
    for (let i = 0; i < limits.localCounters; i++) await one(`key ${i}`);
    assert.equal(await one("first"), 0);
  });
});

describe("the mails of invitations", () => {
  const paid = (i: number) => ({ teamId: `team_${i}`, tier: "pro" as const });

  it("to one mailbox are bounded over all teams, in any spelling, for a day", async () => {
    const { clock, portal } = setUp();
    const spellings = ["some.one@example.com", "Some.One@EXAMPLE.com", "some.one+tag@example.com"];
    const spelling = (i: number) => spellings[i % 3] ?? "";
    for (let i = 0; i < limits.inviteMailsPerRecipient; i++)
      assert.equal(await portal.invitationMail(paid(i), spelling(i)), true);
    for (let i = 0; i < 3; i++) assert.equal(await portal.invitationMail(paid(100 + i), spelling(i)), false);
    assert.equal(await portal.invitationMail(paid(1), "another@example.com"), true);
    // An invitation is still made: other teams cannot prevent a person from being invited.
    assert.equal(await outcome(portal.invitation("team_200", "some.one@example.com")), null);
    clock.advance(limits.inviteMailWindowMs);
    assert.equal(await portal.invitationMail(paid(1), spelling(0)), true);
  });

  it("by one team are bounded where it pays nothing", async () => {
    const { portal } = setUp();
    const free = { teamId: "team_1", tier: "free" as const };
    for (let i = 0; i < limits.inviteMailsOfFreeTeam; i++)
      assert.equal(await portal.invitationMail(free, `a${i}@example.com`), true);
    assert.equal(await portal.invitationMail(free, "b@example.com"), false);
    assert.equal(await portal.invitationMail(paid(1), "b@example.com"), true);
    assert.equal(await portal.invitationMail({ ...free, teamId: "team_2" }, "b@example.com"), true);
  });
});

describe("a client", () => {
  it("is an IPv4 address, or the /64 of an IPv6 one", () => {
    assert.equal(clientNetwork("192.0.2.1"), "192.0.2.1");
    assert.equal(clientNetwork("unknown"), "unknown");
    assert.equal(clientNetwork("2001:db8::1"), clientNetwork("2001:db8:0:0:ffff:1:2:3"));
    assert.notEqual(clientNetwork("2001:db8::1"), clientNetwork("2001:db8:0:1::1"));
  });
});

describe("counting without Redis", () => {
  it("goes on in the process, which asks again after a while", async () => {
    const clock = createFakeClock();
    let asked = 0;
    let down = true;
    const shared: AttemptCounters = {
      ...createLocalCounters(clock),
      async count() {
        asked++;
        if (down) throw new Error("Redis is away");
        return 0;
      },
    };
    const attempts = createSharedAttemptCounters({ shared, clock, log: silentLog });
    const count = () => attempts.count([{ key: "key", limit: 2, windowMs: 60_000 }]);
    assert.deepEqual([await count(), await count(), asked], [0, 0, 1]);
    assert.equal(await count(), 60_000);
    clock.advance(limits.storeRetryMs);
    assert.ok((await count()) > 0);
    assert.equal(asked, 2);
    down = false;
    clock.advance(limits.storeRetryMs);
    assert.equal(await count(), 0);
    assert.equal(asked, 3);
  });
});
