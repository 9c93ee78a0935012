import { parseAddress } from "../../../check/address.ts";
import { toText } from "./field.ts";

/** Longer than any address with a name before it; longer cells are taken as they are. */
const CELL_CHARS = 1_000;

/** What nearly all cells are: nothing stands round it. */
const BARE = /^[A-Za-z0-9][^\s:<>]*[A-Za-z0-9]$/;

/** Quotes that are no ASCII: an address with these would be read as one of a domain that nobody can register. */
const TYPOGRAPHIC =
  /^(?:\u2039.*\u203a|\u00ab.*\u00bb|[\u201c\u201e].*[\u201c\u201d]|[\u2018\u201a].*[\u2018\u2019])$/s;
const ASCII_QUOTES = /^(["']).*\1$/s;
/** `Jane Doe <jane@example.com>`, or nothing before it. */
const IN_ANGLES = /^[^<>]*<([^<>]*)>$/;
const MAILTO = /^mailto:([^?]*)/i;

/** As deep as they stand in one another: ` "'Jane' <mailto:jane@example.com>"` has three. */
const WRAPPINGS_MAX = 4;

/** RFC 6068: what stands for itself nowhere else is percent-encoded. */
function decodeMailto(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Without the outermost wrapping; undefined: it has none. */
function unwrapped(text: string): string | undefined {
  if (TYPOGRAPHIC.test(text) || (text.length > 1 && ASCII_QUOTES.test(text))) return text.slice(1, -1);
  const mailto = MAILTO.exec(text);
  if (mailto !== null) return decodeMailto(mailto[1] as string);
  return IN_ANGLES.exec(text)?.[1];
}

/**
 * The address that a row's text is to be verified for. That is the text; but where it is no address and holds one in a
 * well-known wrapping, it is that one: in spaces and quotes, in angle brackets with or without a name, behind `mailto:`.
 * Nothing else is mended.
 */
export function addressIn(text: string): string {
  if (text.length > CELL_CHARS || BARE.test(text)) return text;
  let rest = text.trim();
  if (!TYPOGRAPHIC.test(rest) && parseAddress(text).ok) return text;
  for (let i = 0; i < WRAPPINGS_MAX; i += 1) {
    const inner = unwrapped(rest)?.trim();
    if (inner === undefined) return text;
    if (!TYPOGRAPHIC.test(inner) && parseAddress(inner).ok) return inner;
    rest = inner;
  }
  return text;
}

/** The same of a cell (latin1). Analysis and chunks both take it from here, since repeats and charges go by it. */
export function addressOf(cell: string): string {
  return addressIn(toText(cell));
}
