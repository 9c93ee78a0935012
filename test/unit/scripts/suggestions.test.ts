import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { slipsOf } from "../../../scripts/suggestions/error-model.ts";
import { measureFalseAlarms, measureRecall } from "../../../scripts/suggestions/measure.ts";

describe("suggestions, measured", () => {
  it("find nine in ten slips, and hardly ever mean another provider", () => {
    const sets = measureRecall();
    assert.ok(sets.reduce((sum, { slips }) => sum + slips, 0) >= 700);
    for (const { set, slips, right, wrong, missed } of sets) {
      assert.equal(right + wrong.length + missed.length, slips, set);
      assert.ok(right / slips >= 0.9, `${set}: ${right} of ${slips}`);
      assert.ok(wrong.length / slips <= 0.005, `${set}: ${JSON.stringify(wrong)}`);
    }
  });

  it("suspect no real domain but those that were registered for a slip", () => {
    const [tuned, heldBack] = measureFalseAlarms();
    assert.ok(tuned && heldBack);
    assert.ok(tuned.domains > 8_000 && heldBack.domains > 7_000);
    assert.deepEqual(tuned.wronged, []);
    // Registered slips and all, so that no label hides a worse rule: 0.2 % of 8 760 names.
    assert.ok(tuned.suspected.length <= 20, JSON.stringify(tuned.suspected));
    assert.deepEqual(heldBack.suspected, []);
    const suspected = tuned.suspected.length + heldBack.suspected.length;
    assert.ok(suspected / (tuned.domains + heldBack.domains) < 0.0011);
  });
});

describe("docs/addresses.md", () => {
  it("has the figures that are measured", () => {
    const page = readFileSync(new URL("../../../docs/addresses.md", import.meta.url), "utf8");
    for (const { slips, right, wrong } of measureRecall())
      assert.match(
        page,
        new RegExp(`\\| ${slips} \\| ${((100 * right) / slips).toFixed(1)} % found, ${wrong.length} mean`),
      );
    const [tuned, heldBack] = measureFalseAlarms();
    assert.ok(tuned && heldBack);
    const share = ((100 * tuned.suspected.length) / tuned.domains).toFixed(2);
    assert.ok(page.includes(`| ${tuned.suspected.length} suspected (${share} %), each a registered slip`));
    const grouped = (count: number) => count.toLocaleString("en").replace(",", " ");
    for (const { domains } of [tuned, heldBack])
      assert.ok(page.includes(`| ${grouped(domains)} |`), String(domains));
  });
});

describe("the error model", () => {
  const never = () => false;

  it("makes the same slips of a seed, none of them typed right", () => {
    const slips = slipsOf(["gmail.com", "t-online.de"], 100, 7, never);
    assert.deepEqual(slips, slipsOf(["gmail.com", "t-online.de"], 100, 7, never));
    assert.equal(new Set(slips.map(({ typed }) => typed)).size, 100);
    for (const { typed, meant } of slips) assert.notEqual(typed, meant);
  });

  it("leaves out what is real", () => {
    const slips = slipsOf(["gmail.com"], 200, 7, (domain) => domain === "gmail.co");
    assert.ok(slips.length > 50);
    assert.ok(slips.every(({ typed }) => typed !== "gmail.co"));
  });
});
