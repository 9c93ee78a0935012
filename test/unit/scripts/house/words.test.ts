import assert from "node:assert/strict";
import { test } from "node:test";
import { countPrivateWords } from "../../../../scripts/house/words.ts";
import { parseSources } from "../../../../scripts/layers/parse.ts";

/** The words of one file that stand anywhere, with how often: in paths, identifiers, comments, strings. */
function words(text: string, path = "src/a.ts"): Record<string, number[]> {
  const counts = countPrivateWords(parseSources(new Map([[path, text]])));
  const some = counts.map(({ word, paths, identifiers, comments, strings }) => [
    word.word,
    [paths, identifiers, comments, strings],
  ]);
  return Object.fromEntries(some.filter(([, places]) => Array.isArray(places) && places.some((n) => n > 0)));
}

test("a word counts in every form and every spelling of an identifier", () => {
  assert.deepEqual(words("const wayOut = STRANGERS_MAX, strangerOf = a.beat;\n"), {
    "way out": [0, 1, 0, 0],
    stranger: [0, 2, 0, 0],
    beat: [0, 1, 0, 0],
  });
});

test("part of a word is not the word", () => {
  assert.deepEqual(words("const heartbeat = warehouse + contour + strangely + elderly;\n"), {});
});

test("each place counts by itself, a module's path only where the module is", () => {
  const text = `import { a } from "./house/b.ts";
/** Sent by whoever
 * asks. */
const c = \`house \${a} stranger\`; // a tour
const d = /house/ + 'beat';
`;
  assert.deepEqual(words(text, "src/egress/house/a.ts"), {
    house: [1, 0, 0, 2],
    stranger: [0, 0, 0, 1],
    beat: [0, 0, 0, 1],
    tour: [0, 0, 1, 0],
    "who asks, whoever": [0, 0, 1, 0],
  });
});

test("a phrase counts also where a line of a comment ends inside it", () => {
  assert.deepEqual(words("/**\n * Kept at\n * hand.\n */\nconst a = 1; // who\n// asks\n"), {
    "at hand, at rest": [0, 0, 1, 0],
    "who asks, whoever": [0, 0, 1, 0],
  });
});

test("a word that is private in one place is plain elsewhere", () => {
  assert.deepEqual(words("const stays = 1; // it stays\n"), { stays: [0, 1, 0, 0] });
});
