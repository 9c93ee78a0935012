import { DOMAINS, domainName } from "../deployment/site-world.ts";
import type { SentRow } from "../verdict/rows.ts";
import type { Truth } from "./truth.ts";

const HUNDRED = 100;
/** Places of a hundred rows, from the first on; the rest exist. */
const KINDS: readonly [truth: Truth, places: number][] = [
  ["missing", 20],
  ["catch-all", 5],
  ["full", 3],
  ["null-mx", 2],
  ["no-domain", 2],
  ["malformed", 2],
];
/** So many of each hundred repeat a row before them. */
const REPEATS = 4;
/**
 * From this row on most addresses need no mail server: a list that is long in bytes and tasks must not be long for the
 * mail servers too.
 */
export const CHEAP_FROM = 2_000;
const PROBED_EVERY = 10;
/** Distance, in rows, between a repeated row and the row that it repeats. */
const REPEAT_BACK = 50;

function truthOf(place: number): Truth {
  let end = REPEATS;
  for (const [truth, places] of KINDS) {
    end += places;
    if (place < end) return place < REPEATS ? "exists" : truth;
  }
  return "exists";
}

function addressOf(truth: Truth, name: string, i: number): string {
  const domain = domainName(i % DOMAINS);
  switch (truth) {
    case "exists":
      return `exists.${name}@${domain}`;
    case "missing":
      return `missing.${name}@${domain}`;
    case "full":
      return `full.${name}@${domain}`;
    case "catch-all":
      return `anybody.${name}@catchall.test`;
    case "null-mx":
      return `someone.${name}@nullmx.test`;
    case "no-domain":
      return `someone@gone-${name}.test`;
    case "malformed":
      return `no address ${name}`;
  }
}

/**
 * Row `i` of a list: of every kind of address some, each another than in all other lists.
 * @param list its name, letters and digits
 */
export function rowOf(list: string, i: number): SentRow {
  const place = i % HUNDRED;
  if (place < REPEATS && i >= HUNDRED) {
    const before = rowOf(list, i - REPEAT_BACK);
    const email = before.email.replace(/@.*/, (at) => at.toUpperCase());
    return { ...before, email };
  }
  const isCheap = i >= CHEAP_FROM && i % PROBED_EVERY !== 0;
  const truth = isCheap && place >= REPEATS ? "null-mx" : truthOf(place);
  const email = addressOf(truth, `${list}-${i}`, i);
  return { email, truth, key: truth === "malformed" ? null : email };
}

export function rowsOf(list: string, rows: number): SentRow[] {
  return Array.from({ length: rows }, (_, i) => rowOf(list, i));
}
