import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createPromotion } from "../../../../src/features/overrides/promotion.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";

const { sql } = await useDatabase();
const promotion = createPromotion({ sql, lists: { isFree: (domain) => domain === "freemail.test" } });
beforeEach(async () => {
  await sql`delete from promoted_disposables`;
});

const isFull = (outcome: PromiseSettledResult<unknown>) =>
  outcome.status === "rejected" && outcome.reason.code === "limit_reached";

describe("promotion", () => {
  it("takes any spelling, and says what was new", async () => {
    assert.deepEqual(await promotion.promote(["A.test.", "münchen.test", "a.test"]), {
      changed: ["a.test", "xn--mnchen-3ya.test"],
      unchanged: [],
    });
    assert.deepEqual(await promotion.promote(["b.test", "a.test"]), {
      changed: ["b.test"],
      unchanged: ["a.test"],
    });
    assert.deepEqual(await promotion.promoted(), ["a.test", "b.test", "xn--mnchen-3ya.test"]);
  });

  it("does all or nothing, and says what is refused and why", async () => {
    const outcome = await promotion.promote([
      "a.test",
      "freemail.test",
      "GMAIL.com",
      "co.uk",
      "nonsense",
      "b.test",
    ]);
    assert.ok("refused" in outcome);
    assert.deepEqual(
      outcome.refused.map(({ name }) => name),
      ["freemail.test", "GMAIL.com", "co.uk", "nonsense"],
    );
    for (const { why } of outcome.refused) assert.match(why, /^(is|holds) /);
    assert.deepEqual(await promotion.promoted(), []);
  });

  it("keeps its bound exactly, however many come at once", async () => {
    await sql`
      insert into promoted_disposables (domain)
      select 'full' || n || '.test' from generate_series(1, ${LIMITS.overrides.promoted - 3}) n`;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) => promotion.promote([`last${i}.test`])),
    );
    assert.equal(outcomes.filter(isFull).length, 5);
    assert.equal((await promotion.promoted()).length, LIMITS.overrides.promoted);
  });
});

describe("demotion", () => {
  it("does all or nothing, also of two at once", async () => {
    await promotion.promote(["a.test", "b.test"]);
    assert.deepEqual(await promotion.demote(["a.test", "c.test"]), {
      refused: [{ name: "c.test", why: "is not promoted" }],
    });
    assert.deepEqual(await promotion.promoted(), ["a.test", "b.test"]);
    const both = await Promise.all([promotion.demote(["A.test"]), promotion.demote(["a.test"])]);
    assert.equal(both.filter((outcome) => "changed" in outcome).length, 1);
    assert.deepEqual(await promotion.promoted(), ["b.test"]);
  });
});

describe("candidates", () => {
  it("are domains that teams have merged and the operator has not promoted, most teams first", async () => {
    const submissions = [
      ["popular.test", "merged"],
      ["rare.test", "merged"],
      ["freemail.test", "merged"],
      ["promoted.test", "merged"],
      ["waiting.test", "pending"],
    ] as const;
    for (const skipped of [null, "rare.test"]) {
      const { teamId } = await newTeam(sql);
      for (const [domain, status] of submissions) {
        if (domain === skipped) continue;
        await sql`
          insert into disposable_overrides (id, team_id, domain, status, merged_at)
          values (${domain + teamId}, ${teamId}, ${domain}, ${status}, ${status === "merged" ? new Date() : null})`;
      }
    }
    await promotion.promote(["promoted.test"]);
    assert.deepEqual(await promotion.candidates(), [
      { domain: "freemail.test", teams: 2, refusal: "is a free-mail provider's" },
      { domain: "popular.test", teams: 2, refusal: null },
      { domain: "rare.test", teams: 1, refusal: null },
    ]);
  });
});
