import { lazy } from "../../platform/lazy.ts";
import { ACQUITTING } from "./lexicon/acquitting.ts";
import { compilePhrases } from "./phrases.ts";
import { spellingsOf, spokenOf, UNSPACED } from "./spoken.ts";

/** `name` as it occurs in a spoken text: whole words, a stem by its beginning, characters without spaces anywhere. */
export function phraseOf(name: string): string {
  const stem = name.endsWith("~");
  const spoken = spokenOf(stem ? name.slice(0, -1) : name);
  if (UNSPACED.test(spoken)) return spoken.trim();
  return stem ? spoken.trimEnd() : spoken;
}

const book = lazy(() =>
  compilePhrases([
    ...new Set(
      Object.values(ACQUITTING)
        .flatMap(({ passing, proof, asker, alternative }) => [passing, proof, asker, alternative])
        .flatMap((terms) => terms.split(","))
        .flatMap((term) => spellingsOf(term.trim()))
        .map(phraseOf),
    ),
  ]),
);

/**
 * True when a reply has a word of any language that excuses the recipient: the failure is temporary, a login is needed,
 * strangers are meant, or the alternative is a policy. Linear.
 * @param spoken by `spokenOf`
 */
export function isDoubtful(spoken: string): boolean {
  let found = false;
  book().scan(spoken, () => {
    found = true;
  });
  return found;
}
