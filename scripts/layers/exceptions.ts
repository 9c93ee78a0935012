import { type Finding, RULES, type Rule } from "./measures.ts";

/**
 * The places that are known to break a rule: by rule, the count that each may reach. The list only shrinks: a place that is
 * not in it fails the check, and so does an entry whose place has a lower count or keeps the rule by now.
 */
export type Exceptions = Record<Rule, Record<string, number>>;

const TIGHTEN = "run npm run layers -- --tighten";

/** One line for each new or grown count, each shrunk one, and each entry that is no longer needed. */
export function checkExceptions(found: readonly Finding[], known: Exceptions): string[] {
  const broken: string[] = [];
  for (const { rule, key, count, why } of found) {
    const allowed = known[rule][key];
    if (allowed === undefined) broken.push(why);
    else if (count > allowed)
      broken.push(`${why}; it is a known exception with ${allowed}, and may not grow`);
    else if (count < allowed)
      broken.push(`known.json: "${key}" of ${rule} is ${count} by now, not ${allowed}; ${TIGHTEN}`);
  }
  for (const rule of RULES) {
    const keys = new Set(found.filter((one) => one.rule === rule).map(({ key }) => key));
    for (const key of Object.keys(known[rule]))
      if (!keys.has(key)) broken.push(`known.json: "${key}" of ${rule} is no exception any more; ${TIGHTEN}`);
  }
  return broken;
}

/** The list without the entries that are no longer needed, each with the count of today where that is lower. */
export function tighten(found: readonly Finding[], known: Exceptions): Exceptions {
  const left: Exceptions = { folders: {}, functions: {}, exports: {} };
  for (const { rule, key, count } of [...found].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const allowed = known[rule][key];
    if (allowed !== undefined) left[rule][key] = Math.min(allowed, count);
  }
  return left;
}
