import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compilePhrases } from "../../../../src/verification/classify/phrases.ts";
import fc from "../../../support/properties.ts";

function found(phrases: readonly string[], text: string): string[] {
  const hits: string[] = [];
  compilePhrases(phrases).scan(text, (phrase, end) => hits.push(`${phrases[phrase]}@${end}`));
  return hits.sort();
}

/** The expected phrases, by a naive search. */
function searched(phrases: readonly string[], text: string): string[] {
  return phrases
    .flatMap((phrase) =>
      Array.from({ length: text.length }, (_, start) => start)
        .filter((start) => text.startsWith(phrase, start))
        .map((start) => `${phrase}@${start + phrase.length}`),
    )
    .sort();
}

describe("phrases", () => {
  it("are found wherever they stand, within one another too", () => {
    const phrases = ["she", "he", "hers", "is unknown", "unknown"];
    assert.deepEqual(found(phrases, "ushers is unknown"), searched(phrases, "ushers is unknown"));
    assert.deepEqual(found(["用户"], "该用户不存在"), ["用户@3"]);
  });

  it("are those that a search for each finds, in any text", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "ä", " "), minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.uniqueArray(word, { maxLength: 12 }),
        fc.array(word, { maxLength: 12 }),
        (phrases, text) => {
          assert.deepEqual(found(phrases, text.join("")), searched(phrases, text.join("")));
        },
      ),
      { numRuns: 300, seed: 1975 },
    );
  });
});
