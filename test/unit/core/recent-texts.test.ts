import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentTexts } from "../../../src/core/recent-texts.ts";
import fc from "../../support/properties.ts";

/** The same characters, another object, as of a request of its own. */
const anew = (text: string) => Buffer.from(text).toString();

describe("a map by texts that are made anew", () => {
  it("says of any text what was set for it last, or nothing", () => {
    // A few texts, some alike where seats are told by, and so few seats that most are taken from somebody.
    const text = fc.oneof(
      fc.constantFrom("", "email=", "email=a", "email=b", "email=a%40b.example", "\u{1f600}".repeat(4)),
      fc.integer({ min: 0, max: 9 }).map((n) => `email=${"x".repeat(40)}${n}`),
      fc.integer({ min: 0, max: 99 }).map((n) => `email=user${n}%40b.example`),
    );
    const steps = fc.array(fc.tuple(text, fc.option(fc.nat())), { size: "max", maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.constantFrom(2, 8, 64), (all, seats) => {
        const texts = new RecentTexts<number>(1_000, seats);
        const model = new Map<string, number>();
        for (const [text, value] of all) {
          if (value !== null) {
            texts.set(anew(text), value);
            model.set(text, value);
          }
          assert.equal(texts.get(anew(text)), model.get(text));
        }
        for (const [text, value] of model) assert.equal(texts.get(anew(text)), value);
        assert.equal(texts.size, model.size);
      }),
    );
  });

  it("holds no more than its map and its seats, and those that are asked for by turns as long as there is room", () => {
    const [max, seats, all] = [100, 64, 10_000];
    const texts = new RecentTexts<number>(max, seats);
    for (let i = 0; i < all; i++) texts.set(`email=${i}`, i);
    assert.ok(texts.size <= max);
    let held = 0;
    for (let i = 0; i < all; i++) if (texts.get(`email=${i}`) === i) held += 1;
    assert.ok(held > max / 2 && held <= max + seats, `${held}`);
    const again = () => Array.from({ length: max / 2 }, (_, i) => texts.get(`email=${all - 1 - i}`));
    for (let i = 0; i < 5; i++)
      assert.deepEqual(
        again(),
        Array.from({ length: max / 2 }, (_, i) => all - 1 - i),
      );
  });

  it("finds texts that all would have the same seat", () => {
    const same = (i: number) => `email=${"x".repeat(40)}${String(i).padStart(4, "0")}`;
    const texts = new RecentTexts<number>(1_000, 64);
    for (let i = 0; i < 400; i++) texts.set(same(i), i);
    for (let turn = 0; turn < 3; turn++)
      for (let i = 0; i < 400; i++) assert.equal(texts.get(same(i)), i, `${turn} ${i}`);
  });
});
