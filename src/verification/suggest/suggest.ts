import { parse } from "tldts";
import { type ParsedAddress, parseAddress } from "../address/address.ts";
import { plainText } from "../address/plain-text.ts";
import { endingTypoCost, lettersOf, mayBeTypo, nameTypoCost } from "./suggest-slip.ts";
import {
  COINED_PROVIDERS,
  INTERNAL_ENDINGS,
  KNOWN_TYPOS,
  REAL_NEIGHBOURS,
  WORD_PROVIDERS,
} from "./suggest-targets.ts";

/** A provider's name and the maximum cost of a typing error in it; 0: no error is assumed. */
interface SuggestionTarget {
  name: string;
  endings: readonly string[];
  budget: number;
  coined: boolean;
  letters: number;
}

/** Two slips in a long name are still that name; in `gmail` they make another word, in `aol` one does. */
function budgetOf(name: string): number {
  if (name.length < 5) return 0;
  if (name.length >= 9) return 1.8;
  return name.length >= 7 ? 1.5 : 1;
}

const COINED_TARGETS: readonly SuggestionTarget[] = Object.entries(COINED_PROVIDERS).map(
  ([name, endings]) => ({
    name,
    endings,
    budget: budgetOf(name),
    coined: true,
    letters: lettersOf(name),
  }),
);
const ALL_TARGETS: readonly SuggestionTarget[] = [
  ...COINED_TARGETS,
  ...Object.entries(WORD_PROVIDERS).map(([name, endings]) => ({
    name,
    endings,
    budget: 0,
    coined: false,
    letters: 0,
  })),
];
const BY_NAME = new Map(ALL_TARGETS.map((target) => [target.name, target]));
const EXACT = new Set(
  ALL_TARGETS.flatMap(({ name, endings }) => endings.map((ending) => `${name}.${ending}`)),
);
const LONGEST_NAME = Math.max(...ALL_TARGETS.map(({ name }) => name.length));

/** Coined domains with their dots left out: `gmailcom`, `yahoocouk`. */
const UNDOTTED = new Map<string, string>();
for (const { name, endings } of COINED_TARGETS)
  for (const ending of endings) UNDOTTED.set(`${name}.${ending}`.replaceAll(".", ""), `${name}.${ending}`);

/** Endings that exist, one slip from another. A coined name has no other domain there that people use. */
const NEAR_ENDINGS: Readonly<Record<string, ReadonlySet<string>>> = {
  com: new Set(["co", "cm", "om"]),
  net: new Set(["ne", "bet"]),
};
/** Endings that a domain of no known provider may have been meant to have; in this order. */
const COMMON_ENDINGS = ["com", "net", "org", "edu", "gov"] as const;
const ENDING_BUDGET = 1;

/** Distance of a mistyped ending, which does not exist, from the intended one. Cut-off or appended letters cost little. */
function endingCost(typed: string, meant: string): number {
  const behind = typed.length - meant.length;
  if (behind > 0 && typed.startsWith(meant)) return 0.3 * behind;
  if (meant.startsWith(typed)) return 0.5;
  return endingTypoCost(typed, meant);
}

/** The ending of `target` that `typed` probably means; null when it may be an ending of its own. */
function meantEnding(
  target: SuggestionTarget,
  typed: string,
  exists: boolean,
): { ending: string; cost: number } | null {
  if (target.endings.includes(typed)) return { ending: typed, cost: 0 };
  if (exists) {
    const ending = target.endings.find((one) => NEAR_ENDINGS[one]?.has(typed));
    return target.coined && ending !== undefined ? { ending, cost: 0 } : null;
  }
  const [best] = target.endings
    .map((ending) => ({ ending, cost: endingCost(typed, ending) }))
    .sort((a, b) => a.cost - b.cost);
  return best ?? null;
}

/** The provider's domain that `name.ending` was probably meant to be. */
function providerMeant(name: string, ending: string, exists: boolean): string | null {
  if (name.length > LONGEST_NAME + 1) return null;
  const same = BY_NAME.get(name);
  if (same !== undefined) {
    const meant = meantEnding(same, ending, exists);
    // A short name is a word: its ending must be a slip of the provider's, not just any that does not exist.
    return meant === null || (same.budget === 0 && meant.cost > ENDING_BUDGET)
      ? null
      : `${name}.${meant.ending}`;
  }
  let best: { domain: string; cost: number } | null = null;
  const letters = lettersOf(name);
  for (const target of COINED_TARGETS) {
    if (Math.abs(name.length - target.name.length) > 1 || !mayBeTypo(letters, target.letters)) continue;
    const meant = meantEnding(target, ending, exists);
    if (meant === null || meant.cost > ENDING_BUDGET) continue;
    const cost = nameTypoCost(name, target.name);
    if (cost <= target.budget && (best === null || cost < best.cost))
      best = { domain: `${target.name}.${meant.ending}`, cost };
  }
  return best?.domain ?? null;
}

/** The domain with its last label put right, where that does not exist and is a slip of a common one; else null. */
function correctEnding(domain: string): string | null {
  const dot = domain.lastIndexOf(".");
  const typed = domain.slice(dot + 1);
  const meant = COMMON_ENDINGS.find((ending) => endingCost(typed, ending) <= ENDING_BUDGET);
  return meant === undefined ? null : `${domain.slice(0, dot)}.${meant}`;
}

function find(domain: string): string | null {
  if (EXACT.has(domain) || REAL_NEIGHBOURS.has(domain)) return null;
  const often = KNOWN_TYPOS.get(domain);
  if (often !== undefined) return often;
  const dot = domain.indexOf(".");
  const tld = domain.slice(domain.lastIndexOf(".") + 1);
  // An A-label is not a slip: a program put it together.
  if (INTERNAL_ENDINGS.has(tld) || tld.startsWith("xn--")) return null;
  if (domain.startsWith("www.") && EXACT.has(domain.slice(4))) return domain.slice(4);
  // The dot a letter too far: `gmailc.om`.
  const redotted = UNDOTTED.get(domain.replaceAll(".", ""));
  if (redotted?.split(".").length === domain.split(".").length) return redotted;
  const undotted = domain.endsWith(".com") ? UNDOTTED.get(domain.slice(0, dot)) : undefined;
  if (undotted !== undefined && dot === domain.length - 4) return undotted;
  const exists = parse(domain).isIcann === true;
  return (
    providerMeant(domain.slice(0, dot), domain.slice(dot + 1), exists) ??
    (exists ? null : correctEnding(domain))
  );
}

/** Lists and traffic have the same domains again and again. Emptied when full: a bound, not a policy. */
const REMEMBERED = 4_096;
const known = new Map<string, string | null>();

/**
 * The domain that was probably meant, or null. Conservative, since a wrong suggestion costs trust: measured by
 * `npm run suggestions`. `domain` in A-labels, lower case, with a dot.
 */
export function suggestDomain(domain: string): string | null {
  const remembered = known.get(domain);
  if (remembered !== undefined) return remembered;
  const suggestion = find(domain);
  if (known.size >= REMEMBERED) known.clear();
  known.set(domain, suggestion);
  return suggestion;
}

/** `did_you_mean`: the whole address with the domain that was probably meant, or null. */
export function suggestAddress(address: Pick<ParsedAddress, "local" | "domain">): string | null {
  const domain = suggestDomain(address.domain);
  return domain === null ? null : `${address.local}@${domain}`;
}

/** A malformed domain with corrected dots; null if that does not help. */
function correctDots(domain: string): string | null {
  const mended = domain
    .toLowerCase()
    .replace(/[,;]/g, ".")
    .replace(/\s*\.[\s.]*/g, ".")
    .replace(/^\.|[.>]+$/g, "");
  if (!/^[a-z0-9.-]{1,253}$/.test(mended)) return null;
  const same = BY_NAME.get(mended);
  return UNDOTTED.get(mended) ?? (same?.coined ? `${mended}.${same.endings[0]}` : mended);
}

/** Longer than any address with something stuck to it. */
const MALFORMED_CHARS = 320;

/** The text without characters that cannot begin or end an address, and without spaces around its `@`. */
function stripDecoration(text: string): string {
  return (plainText(text) ?? text)
    .replace(/^[^\p{L}\p{N}"]+|[^\p{L}\p{N}]+$/gu, "")
    .replace(/[^\S\r\n]*@[^\S\r\n]*/, "@");
}

/**
 * `did_you_mean` for a malformed address. Either the address without extra characters. Or with a corrected dot (left out,
 * doubled or typed as a comma) or one-letter ending, if the result is a mailbox provider's domain. Null for all else.
 */
export function suggestForMalformed(text: string): string | null {
  if (text.length > MALFORMED_CHARS) return null;
  const bare = stripDecoration(text);
  const parsed = parseAddress(bare);
  if (parsed.ok) return suggestAddress(parsed.address) ?? parsed.address.normalised;
  const at = bare.lastIndexOf("@");
  if (at < 1) return null;
  const mended = correctDots(bare.slice(at + 1));
  if (mended === null) return null;
  const dot = mended.indexOf(".");
  const domain = EXACT.has(mended)
    ? mended
    : providerMeant(mended.slice(0, dot), mended.slice(dot + 1), false);
  if (domain === null || dot < 1) return null;
  const result = parseAddress(`${bare.slice(0, at)}@${domain}`);
  return result.ok ? result.address.normalised : null;
}
