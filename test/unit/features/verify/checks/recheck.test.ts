import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { retryAfter } from "../../../../../src/features/verify/answer/retry-after.ts";
import type { CacheEntry } from "../../../../../src/features/verify/cache/cache-entry.ts";
import { createRechecks, type RecheckResult } from "../../../../../src/features/verify/checks/recheck.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { createLog } from "../../../../../src/platform/log.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import type { Evidence, SmtpEvidence } from "../../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const { usualS, minS, maxS, slackS, attempts, atOnce, perSite, busyMs, pending, teamShare, loadShare } =
  LIMITS.rechecks;

function evidence(end: SmtpEvidence["class"], rest: Partial<SmtpEvidence> = {}): Evidence {
  const putOff = {
    class: end,
    fault: "their_server",
    code: 450,
    reply: "450",
    catchAll: "not_probed",
  } as const;
  return evidenceWith({ smtp: smtpWith({ ...putOff, ...rest }) });
}

function world() {
  const clock = createFakeClock();
  const checked: string[] = [];
  const cancelled: string[] = [];
  const kept = new Map<string, CacheEntry>();
  const ends: RecheckResult[] = [];
  const state = {
    inFlight: 0,
    answer: evidence("accepted", { catchAll: "refused" }) as
      | Evidence
      | null
      | "overloaded"
      | "never"
      | Promise<Evidence>,
  };
  const rechecks = createRechecks({
    clock,
    log: createLog("silent"),
    siteOf: (_, domain) => domain,
    keep: () => ({ ttlS: 600, shared: true }),
    cache: {
      fetch: async (_, key) => kept.get(key),
      store: (_, key, entry) => void kept.set(key, entry),
    },
    pool: {
      get inFlight() {
        return state.inFlight;
      },
      check(address) {
        checked.push(address);
        const { answer } = state;
        if (answer === "overloaded") throw new AppError("overloaded", "full");
        return {
          evidence: answer === "never" ? new Promise(() => {}) : Promise.resolve(answer),
          cancel: () => void cancelled.push(address),
        };
      },
    },
    onEnd: (result) => void ends.push(result),
  });
  function landed(email: string, found: Evidence, teamId = "team_1"): void {
    const parsed = parseAddress(email);
    assert.ok(parsed.ok);
    const entry = { evidence: found, storedAt: clock.now(), ttlS: 600 };
    kept.set(parsed.address.cacheKey, entry);
    rechecks.onSettled({ teamId, address: parsed.address, scope: "probed" }, entry);
  }
  return { clock, checked, cancelled, kept, ends, state, rechecks, landed };
}

const afterS = (seconds: number) => (seconds + slackS) * 1_000;

describe("when asking again makes sense", () => {
  it("is when the server said, within bounds, else after the usual delay of greylisting", () => {
    const seconds = (...args: Parameters<typeof evidence>) => retryAfter(evidence(...args).smtp)?.seconds;
    assert.equal(seconds("greylisted"), usualS + slackS);
    assert.equal(seconds("greylisted", { retryAfterS: 60 }), 60 + slackS);
    assert.equal(seconds("greylisted", { retryAfterS: 1 }), minS + slackS);
    assert.equal(seconds("greylisted", { retryAfterS: 86_400 }), maxS + slackS);
    assert.equal(seconds("rate_limited_by_server", { retryAfterS: 60 }), 60 + slackS);
    assert.equal(seconds("rate_limited_by_server"), usualS + slackS);
    assert.equal(seconds("smtp_protocol_error", { code: 451, retryAfterS: 60 }), 60 + slackS);
    assert.equal(seconds("smtp_protocol_error", { code: 451 }), usualS + slackS);
    assert.equal(seconds("smtp_protocol_error", { code: 501 }), undefined);
    assert.equal(seconds("smtp_protocol_error", { code: 0 }), undefined);
    assert.equal(seconds("accepted", { catchAll: "put_off", retryAfterS: 60 }), 60 + slackS);
    assert.equal(seconds("accepted", { catchAll: "put_off" }), usualS + slackS);
    assert.equal(seconds("accepted", { catchAll: "inconclusive" }), undefined);
    assert.equal(seconds("accepted", { catchAll: "refused" }), undefined);
    assert.equal(seconds("mailbox_not_found"), undefined);
    assert.deepEqual(retryAfter(evidence("sender_blocked", { retryAfterS: 42 }).smtp), {
      seconds: 42,
      rechecked: false,
    });
    assert.equal(retryAfter(evidence("mailbox_full", { code: 552 }).smtp), null);
    assert.deepEqual(retryAfter(evidence("mailbox_full", { code: 452 }).smtp), {
      seconds: usualS + slackS,
      rechecked: true,
    });
    assert.equal(retryAfter(null), null);
  });
});

describe("rechecks", () => {
  it("ask again when the delay is over, and replace what the cache had", async () => {
    const { clock, checked, kept, ends, rechecks, landed } = world();
    landed("a@one.test", evidence("greylisted", { retryAfterS: 60 }));
    assert.deepEqual([rechecks.pending, clock.pending], [1, 1]);
    await clock.advanceAsync(afterS(60) - 1);
    assert.deepEqual(checked, []);
    await clock.advanceAsync(1);
    assert.deepEqual(checked, ["a@one.test"]);
    assert.equal(kept.get("a@one.test")?.evidence.smtp?.class, "accepted");
    assert.deepEqual([ends, rechecks.pending, clock.pending], [["settled"], 0, 0]);
  });

  it("wait longer each time, and give up", async () => {
    const { clock, checked, ends, state, rechecks, landed } = world();
    state.answer = evidence("greylisted", { retryAfterS: 60 });
    landed("a@one.test", state.answer);
    await clock.advanceAsync(afterS(60));
    assert.equal(checked.length, 1);
    await clock.advanceAsync(2 * afterS(60) - 1);
    assert.equal(checked.length, 1);
    await clock.advanceAsync(1 + 24 * 3_600_000);
    assert.equal(checked.length, attempts);
    assert.deepEqual(ends, ["put_off", "put_off", "given_up"]);
    assert.deepEqual([rechecks.pending, clock.pending], [0, 0]);
  });

  it("are not needed when the answer is known meanwhile: here, or in another process", async () => {
    const { clock, checked, kept, ends, rechecks, landed } = world();
    landed("a@one.test", evidence("greylisted"));
    landed("b@one.test", evidence("greylisted"));
    await clock.advanceAsync(1_000);
    landed("a@one.test", evidence("accepted", { catchAll: "refused" }));
    assert.equal(rechecks.pending, 1);
    const entry = { evidence: evidence("mailbox_not_found"), storedAt: clock.now(), ttlS: 600 };
    kept.set("b@one.test", entry);
    await clock.advanceAsync(afterS(usualS));
    assert.deepEqual([checked, ends], [[], ["superseded", "superseded"]]);
    assert.deepEqual([rechecks.pending, clock.pending], [0, 0]);
  });

  it("ask once about an address that was put off twice", async () => {
    const { clock, checked, landed } = world();
    landed("a@one.test", evidence("greylisted"));
    await clock.advanceAsync(60_000);
    landed("a@one.test", evidence("greylisted"));
    await clock.advanceAsync(afterS(usualS));
    assert.equal(checked.length, 1);
  });

  it("wait while requests keep the process busy, and count no attempt for it", async () => {
    const { clock, checked, ends, state, rechecks, landed } = world();
    state.inFlight = LIMITS.check.tasksInFlight / loadShare;
    landed("a@one.test", evidence("greylisted"));
    await clock.advanceAsync(afterS(usualS) + 3 * busyMs);
    assert.deepEqual([checked, ends, rechecks.pending, clock.pending], [[], [], 1, 1]);
    state.inFlight = 0;
    await clock.advanceAsync(busyMs);
    assert.deepEqual([checked.length, ends], [1, ["settled"]]);
  });

  it("are bounded: in progress, waiting, and of one team", async () => {
    const { clock, checked, ends, state, rechecks, landed } = world();
    state.answer = "never";
    const share = pending / teamShare;
    for (let i = 0; i <= share; i++) landed(`a${i}@d${i}.test`, evidence("greylisted"));
    assert.deepEqual([rechecks.pending, ends], [share, ["turned_away"]]);
    for (let team = 2; team <= teamShare + 1; team++)
      for (let i = 0; i < share; i++)
        landed(`b${team}-${i}@one.test`, evidence("greylisted"), `team_${team}`);
    assert.equal(rechecks.pending, pending);
    await clock.advanceAsync(afterS(usualS));
    assert.equal(checked.length, atOnce);
    rechecks.stop();
  });

  it("alternate between teams, however many each has, and ask few at once at a site", async () => {
    const { clock, checked, state, rechecks, landed } = world();
    state.answer = "never";
    for (let i = 0; i < 2 * atOnce; i++) landed(`a${i}@tarpit.test`, evidence("greylisted"), "team_1");
    for (let i = 0; i < 2 * atOnce; i++) landed(`b${i}@d${i}.test`, evidence("greylisted"), "team_2");
    landed("c@other.test", evidence("greylisted"), "team_3");
    landed("d@tarpit.test", evidence("greylisted"), "team_3");
    await clock.advanceAsync(afterS(usualS));
    assert.equal(checked.length, atOnce);
    assert.deepEqual(checked.slice(0, 3), ["a0@tarpit.test", "b0@d0.test", "c@other.test"]);
    const tarpit = checked.filter((email) => email.endsWith("@tarpit.test"));
    assert.equal(tarpit.length, perSite);
    assert.ok(tarpit.includes("d@tarpit.test"), "each team has its turn at a site too");
    rechecks.stop();
    assert.equal(clock.pending, 0);
  });

  it("go on where there is room when one has ended", async () => {
    const { clock, checked, ends, state, rechecks, landed } = world();
    for (let i = 0; i < 3 * perSite; i++) landed(`a${i}@one.test`, evidence("greylisted"));
    let end: (found: Evidence) => void = () => {};
    state.answer = new Promise<Evidence>((resolve) => {
      end = resolve;
    });
    await clock.advanceAsync(afterS(usualS));
    assert.equal(checked.length, perSite);
    end(evidence("mailbox_not_found"));
    await clock.advanceAsync(0);
    assert.deepEqual([checked.length, ends.length, rechecks.pending], [3 * perSite, 3 * perSite, 0]);
    assert.equal(clock.pending, 0);
  });

  it("never replace what was learnt while they asked: by a request here, or by another process", async () => {
    const { clock, kept, ends, state, rechecks, landed } = world();
    for (const name of ["here", "there"]) landed(`${name}@one.test`, evidence("greylisted"));
    let end: (found: Evidence) => void = () => {};
    state.answer = new Promise<Evidence>((resolve) => {
      end = resolve;
    });
    await clock.advanceAsync(afterS(usualS));
    landed("here@one.test", evidence("mailbox_not_found"));
    const there = { evidence: evidence("mailbox_not_found"), storedAt: clock.now(), ttlS: 600 };
    kept.set("there@one.test", there);
    end(evidence("timeout"));
    await clock.advanceAsync(0);
    for (const name of ["here", "there"])
      assert.equal(kept.get(`${name}@one.test`)?.evidence.smtp?.class, "mailbox_not_found", name);
    assert.deepEqual([ends, rechecks.pending], [["superseded", "superseded"], 0]);
  });

  it("leave an answer where they fail, and come again", async () => {
    const { clock, kept, ends, state, rechecks, landed } = world();
    const known = evidence("accepted", { catchAll: "put_off", retryAfterS: 60 });
    landed("a@one.test", known);
    state.answer = evidence("timeout");
    await clock.advanceAsync(afterS(60));
    assert.equal(kept.get("a@one.test")?.evidence, known);
    assert.deepEqual([ends, rechecks.pending], [["failed"], 1]);
    state.answer = evidence("accepted", { catchAll: "refused" });
    await clock.advanceAsync(2 * usualS * 1_000);
    assert.equal(kept.get("a@one.test")?.evidence.smtp?.catchAll, "refused");
  });

  it("come again after a failure of ours, and end at once when the process does", async () => {
    const { clock, checked, cancelled, ends, state, rechecks, landed } = world();
    state.answer = "overloaded";
    landed("a@one.test", evidence("greylisted"));
    await clock.advanceAsync(afterS(usualS));
    assert.deepEqual(ends, ["failed"]);
    state.answer = "never";
    await clock.advanceAsync(2 * usualS * 1_000);
    assert.equal(checked.length, 2);
    landed("b@one.test", evidence("greylisted"));
    rechecks.stop();
    assert.deepEqual([cancelled, rechecks.pending, clock.pending], [["a@one.test"], 0, 0]);
    landed("c@one.test", evidence("greylisted"));
    assert.equal(rechecks.pending, 0);
  });
});
