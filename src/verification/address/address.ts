import { LIMITS } from "../../config/limits/limits.ts";
import { foldAddress } from "./address-case.ts";
import { type DomainFault, type DomainName, parseDomain } from "./domain.ts";
import { endOfLocalPart, type LocalPartFault, parseLocalPart } from "./local-part.ts";

/** RFC 5321 §4.5.3.1.3: a path is at most 256 octets with its angle brackets. */
const MAX_ADDRESS_OCTETS = 254;

/** The form of nearly all addresses, of which lists have millions: no character needs to be dropped, composed or refused. */
const VISIBLE_ASCII = /^[!-~]+$/;

export interface ParsedAddress {
  /** The local part as sent: NFC, quoted only if necessary, lower case only if the provider is known to ignore case. */
  local: string;
  /** A-labels, lower case. */
  domain: string;
  /** The domain, with the cached data about it. */
  name: DomainName;
  /** `local@domain`: one text for all spellings of an address that are surely one mailbox. */
  normalised: string;
  /** Key of caches, of single flight and of repeats in a list. Elsewhere it keeps the local part's case, since only its server may fold it. */
  cacheKey: string;
}

export type FormatFault =
  | "empty"
  | "too_long"
  | "control_character"
  | "no_at_sign"
  | LocalPartFault
  | DomainFault;

export type ParseResult = { ok: true; address: ParsedAddress } | { ok: false; reason: FormatFault };

function fail(reason: FormatFault): ParseResult {
  return { ok: false, reason };
}

/**
 * Parses an address by the profile "deliverable mail": RFC 5321, 5322 and 6531 syntax and lengths, dot-atom and quoted
 * local parts, IDNA domains; no comments, no folding white space, no address literals. Spaces (U+0020) around it are
 * dropped, as they come with every pasted list; nothing else is repaired. A control character anywhere, also inside quotes,
 * is refused here, so that an accepted address can be put into an SMTP command.
 */
export function parseAddress(input: string): ParseResult {
  if (input.length > LIMITS.check.addressChars) return fail("too_long");
  const isBare = VISIBLE_ASCII.test(input);
  const text = isBare ? input : input.replace(/^ +| +$/g, "").normalize("NFC");
  if (text === "") return fail("empty");
  if (!isBare && !VISIBLE_ASCII.test(text) && /\p{Cc}/u.test(text)) return fail("control_character");
  const at = endOfLocalPart(text);
  if (at < 0) return fail(text.includes("@") ? "local_part_syntax" : "no_at_sign");
  const localText = text.slice(0, at);
  const found = parseLocalPart(localText);
  if (!found.ok) return found;
  const domainText = text.slice(at + 1);
  const name = parseDomain(domainText);
  if (!name.ok) return name;
  const { domain } = name;
  const local = name.mailboxes === null ? found.local : foldAddress(found.local);
  // Nearly all are in normal form already: then the given string is used, since a new one would have to be flattened and
  // hashed wherever it is a key.
  const isNormal = local === localText && domain === domainText;
  const normalised = isNormal ? text : `${local}@${domain}`;
  if ((isBare ? normalised.length : Buffer.byteLength(normalised)) > MAX_ADDRESS_OCTETS)
    return fail("too_long");
  return {
    ok: true,
    address: { local, domain, name, normalised, cacheKey: normalised },
  };
}
