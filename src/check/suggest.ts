import { parse } from "tldts";
import type { ParsedAddress } from "./address.ts";

/** Large mailbox providers that people mistype. Few on purpose: each one makes its neighbours suspect. */
const TARGETS = [
  "gmail.com",
  "googlemail.com",
  "hotmail.com",
  "hotmail.fr",
  "hotmail.co.uk",
  "outlook.com",
  "yahoo.com",
  "yahoo.co.uk",
  "yahoo.fr",
  "icloud.com",
  "protonmail.com",
  "comcast.net",
  "verizon.net",
  "sbcglobal.net",
  "bellsouth.net",
  "btinternet.com",
  "wanadoo.fr",
  "laposte.net",
  "libero.it",
  "rediffmail.com",
  "yandex.ru",
  "t-online.de",
] as const;

/**
 * Real names one slip from a target, with people behind them. Found by running the rule over the 8 760 names of
 * email-providers: of the 16 it still suspects there, none is a provider's.
 */
const REAL_NEIGHBOURS = new Set<string>(["liberto.it"]);

/** Endings that no root zone holds, and what was meant. */
const TLD_TYPOS: ReadonlyMap<string, string> = new Map([
  ["con", "com"],
  ["cpm", "com"],
  ["vom", "com"],
  ["xom", "com"],
  ["cmo", "com"],
  ["ocm", "com"],
  ["comm", "com"],
  ["coom", "com"],
  ["comn", "com"],
  ["cim", "com"],
  ["clm", "com"],
  ["ney", "net"],
  ["nte", "net"],
  ["nett", "net"],
  ["orgg", "org"],
  ["ogr", "org"],
  ["rog", "org"],
  ["edy", "edu"],
]);

/** True when `a` becomes `b` by one insertion, deletion, substitution or swap of neighbours. Linear time. */
function isOneEdit(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const [left, right] = [a.slice(start, endA), b.slice(start, endB)];
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && left[0] === right[1] && left[1] === right[0];
}

/**
 * True when `domain` is `target` with one slip of a finger. The first letter holds unless it is swapped: `mail.com`,
 * `email.com` and `ymail.com` are no typos of `gmail.com`. Nor is a national ending: `yahoo.gr` is not `yahoo.fr`.
 */
function isSlip(domain: string, target: string): boolean {
  const swapped = domain[0] === target[1] && domain[1] === target[0];
  if (domain[0] !== target[0] && !swapped) return false;
  const suffix = target.slice(target.indexOf("."));
  if (suffix !== ".com" && !domain.endsWith(suffix)) return false;
  return isOneEdit(domain, target);
}

/** The domain with its ending put right, where the ending does not exist and is a known slip. */
function mendTld(domain: string): string {
  const dot = domain.lastIndexOf(".");
  const meant = TLD_TYPOS.get(domain.slice(dot + 1));
  if (meant === undefined || parse(domain).isIcann) return domain;
  return `${domain.slice(0, dot)}.${meant}`;
}

/** The domain that was probably meant, or null. Conservative: one slip in the name and one in the ending. */
export function suggestDomain(domain: string): string | null {
  const mended = mendTld(domain);
  if (REAL_NEIGHBOURS.has(mended)) return mended === domain ? null : mended;
  const target = TARGETS.find((name) => name === mended) ?? TARGETS.find((name) => isSlip(mended, name));
  const meant = target ?? mended;
  return meant === domain ? null : meant;
}

/** `did_you_mean`: the whole address with the domain that was probably meant, or null. */
export function suggestAddress(address: Pick<ParsedAddress, "local" | "domain">): string | null {
  const domain = suggestDomain(address.domain);
  return domain === null ? null : `${address.local}@${domain}`;
}
