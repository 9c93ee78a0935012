import { domainToASCII, domainToUnicode } from "node:url";
import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { upTo } from "../../platform/lru.ts";
import { type MailboxRules, mailboxRulesOf } from "../mailbox/rules.ts";
import { keepsBidiRule } from "./bidi.ts";

const MAX_DOMAIN_OCTETS = 253;
const MAX_LABEL_OCTETS = 63;

export type DomainFault =
  | "domain_empty"
  | "domain_syntax"
  | "domain_too_long"
  | "domain_single_label"
  | "address_literal";

/**
 * A parsed domain, on which bulk jobs store under which number they keep its templates. A cached name is one object for all its
 * addresses, so that this needs no look-up by name. With 100 000 names such a look-up has three or four cache
 * misses, 0.2 us.
 */
export class DomainName {
  readonly ok = true;
  /** A-labels, lower case. */
  readonly domain: string;
  /**
   * A number of `nextMemoNumber`; 0: nothing is kept. A process has one keeper of templates: two would take it from each other
   * again and again. It is forgotten with the name.
   */
  templatesMemoNumber = 0;
  /** The provider's rules for local parts, which ignore case; null: no rules are known. */
  readonly mailboxes: MailboxRules | null;

  constructor(domain: string) {
    this.domain = domain;
    this.mailboxes = mailboxRulesOf(domain);
  }
}

let lastNumber = 0;

/** A number above 0, unique in the process, so that a new number finds no data cached under another. */
export function nextMemoNumber(): number {
  lastNumber += 1;
  return lastNumber;
}

export type DomainResult = DomainName | { ok: false; reason: DomainFault };

const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
/**
 * A TLD is alphabetic or an A-label (RFC 3696 §2), which excludes `1.2.3.4`, `0x7f.1` and similar forms. A typing error
 * (`example.c0m`) is accepted: the DNS refuses it, and a suggestion can be made.
 */
const TLD = /^[a-z][a-z0-9-]*[a-z0-9]$/;
/**
 * A TLD in Unicode must obey IDNA2008 (RFC 5892): no quotes, signs or emoji, which UTS #46 allows; a middle dot only
 * between two `l` (appendix A.3), a katakana one only beside kana or Han (A.7).
 */
const U_LABEL =
  /^(?:(?!.*\u30fb)|(?=.*[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]))(?:[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\u30fb-]|(?<=l)\u00b7(?=l)|\u200c|\u200d)+$/u;
const LDH = /^[A-Za-z0-9.-]+$/;
/** ASCII that no host name holds. Checked before IDNA: a URL parser would cut at `/`, decode `%`, drop tabs. */
const NOT_LDH_ASCII = /[^A-Za-z0-9.\-\u0080-\u{10ffff}]/u;
/** Characters that UTS #46 would silently drop (soft hyphen, zero width space), except the joiners that scripts need. */
const DROPPED_BY_IDNA = /(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}|\p{Z}|\p{Cc}|\p{Cs}/u;
/** In an all-ASCII name, Node.js 24 accepts every A-label and does not decode invalid ones. */
const UNDECODED = /(?:^|\.)xn--/;

function fail(reason: DomainFault): DomainResult {
  return { ok: false, reason };
}

/** A-label form, lower case; null where IDNA (UTS #46, nontransitional) refuses the name. */
function toALabels(text: string): string | null {
  if (LDH.test(text)) {
    const lower = text.toLowerCase();
    // The other steps would not change it. Millions of names are of this form.
    if (!lower.includes("xn--")) return lower;
  }
  if (NOT_LDH_ASCII.test(text) || DROPPED_BY_IDNA.test(text)) return null;
  const ascii = domainToASCII(text);
  const unicode = domainToUnicode(ascii);
  return ascii !== "" && !UNDECODED.test(unicode) && keepsBidiRule(unicode) ? ascii : null;
}

function isTld(label: string): boolean {
  return TLD.test(label) && (!label.startsWith("xn--") || U_LABEL.test(domainToUnicode(label)));
}

/** Lists and traffic have the same domains again and again. By what was written, as a rule the very same string. */
const known = new LRUCache<string, DomainName>(upTo(LIMITS.check.domainNames));

/** The cached name is a copy: a substring would retain the whole text. */
function remember(text: string, domain: string): DomainResult {
  const own = Buffer.from(domain, "latin1").toString("latin1");
  const name = new DomainName(own);
  known.set(text === domain ? own : Buffer.from(text, "latin1").toString("latin1"), name);
  return name;
}

/**
 * Converts a mail domain to A-labels (RFC 5890), lower case. UTS #46 decides what is a name, and the DNS whether it is
 * registered, so emoji names and labels of mixed scripts are accepted; a TLD must obey IDNA2008. Refuses names that break
 * the bidi rule, single labels, IP addresses in any notation, address literals, a trailing dot, and everything outside
 * letters, digits and hyphens. `text` must be bounded by the caller.
 */
export function parseDomain(text: string): DomainResult {
  return known.get(text) ?? parseAnew(text);
}

function parseAnew(text: string): DomainResult {
  if (text === "") return fail("domain_empty");
  if (text.startsWith("[")) return fail("address_literal");
  const domain = toALabels(text);
  if (domain === null) return fail("domain_syntax");
  if (domain.length > MAX_DOMAIN_OCTETS) return fail("domain_too_long");
  const labels = domain.split(".");
  if (labels.some((label) => label.length > MAX_LABEL_OCTETS || !LABEL.test(label)))
    return fail("domain_syntax");
  if (labels.length < 2) return fail("domain_single_label");
  if (!isTld(labels.at(-1) ?? "")) return fail("domain_syntax");
  const { domainNameChars } = LIMITS.check;
  if (text.length <= domainNameChars && LDH.test(text)) return remember(text, domain);
  if (domain.length > domainNameChars) return new DomainName(domain);
  // A name in Unicode is parsed each time, and shares the entry of its A-labels.
  return known.get(domain) ?? remember(domain, domain);
}
