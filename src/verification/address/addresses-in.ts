import { LIMITS } from "../../config/limits/limits.ts";
import { type ParsedAddress, parseAddress } from "./address.ts";
import { type Mention, mentionsIn } from "./mentions.ts";
import { isBlank, plainText } from "./plain-text.ts";

/**
 * The addresses found in a text, as people and programs write them. `one`: `text` is the address as given, `address` the
 * parsed one; `unwrapped`: the text had more than the address. `several`: distinct addresses, in order, each as given, also
 * malformed ones. `empty`: no visible character. `none`: no address was found.
 */
export type AddressReading =
  | { kind: "one"; text: string; address: ParsedAddress; unwrapped: boolean }
  | { kind: "several"; texts: readonly string[] }
  | { kind: "empty" }
  | { kind: "none" };

const EMPTY: AddressReading = { kind: "empty" };
const NONE: AddressReading = { kind: "none" };

/** Nearly all texts: a first and a last character that nothing is taken away from, and no quote. */
const BARE = /^[A-Za-z0-9][^\s:<>"'：]*[A-Za-z0-9]$/;

/**
 * Marks that RFC 5321 and 6531 allow in a local part, but that no provider gives out. An apostrophe in front, which
 * spreadsheets write before text and guards write before formulas. A quote or bracket in front that is not ASCII
 * (`“jane@…`): RFC 8264's IdentifierClass does not allow it in user names. And the full-width colon behind a label
 * (`邮箱：jane@…`).
 */
const MARKED = /^[\s\p{Z}]*(?:'|(?![\0-\x7f])[\p{Ps}\p{Pe}\p{Pi}\p{Pf}\uff02\uff07])|^[^@]*：/u;

/**
 * Reads the address, or the addresses, of a text: for cells of lists, inline lists and single requests alike. A text that
 * is an address as given is that one, whatever it looks like, with the exceptions of MARKED. Otherwise text that cannot
 * belong to an address is removed: see `plainText` and `mentionsIn`. Reading the result again gives the same result. Linear
 * in the text, of which LIMITS.check.cellChars are read at most: a longer one is `none`.
 */
export function readAddresses(text: string): AddressReading {
  if (text.length > LIMITS.check.cellChars) return NONE;
  if (BARE.test(text) || !MARKED.test(text)) {
    const asItStands = oneOf(text, text);
    if (asItStands !== null) return asItStands;
  }
  const plain = plainText(text);
  if (plain === null) return NONE;
  if (isBlank(plain)) return EMPTY;
  if (!plain.includes("@")) return NONE;
  const whole = plain === text || MARKED.test(plain) ? null : oneOf(plain, text);
  return whole ?? readingOf(mentionsIn(plain), text);
}

/** The address that `text` is, with nothing but spaces around it. */
function oneOf(text: string, given: string): AddressReading | null {
  const parsed = parseAddress(text);
  if (!parsed.ok) return null;
  const trimmed = text.replace(/^ +|(?<! ) +$/g, "");
  return { kind: "one", text: trimmed, address: parsed.address, unwrapped: trimmed !== given };
}

/** An `@` without a name or a domain does not make a second address. But then the text has no single certain address. */
function readingOf(mentions: readonly Mention[], given: string): AddressReading {
  const texts = new Map<string, string>();
  let only: AddressReading = NONE;
  for (const { text, isClean } of mentions) {
    const found = isClean ? oneOf(text, given) : null;
    if (found?.kind !== "one") texts.set(text, text);
    else {
      if (!texts.has(found.address.cacheKey)) texts.set(found.address.cacheKey, text);
      only = found;
    }
  }
  if (only.kind === "none" || texts.size === 1) return only;
  if ([...texts.values()].filter((text) => /.@./.test(text)).length === 1) return NONE;
  return { kind: "several", texts: [...texts.values()] };
}
