/** An `@` in a text, with the text around it that may belong to an address. */
export interface Mention {
  text: string;
  /** True when the characters around it show where it begins and ends. */
  isClean: boolean;
}

/** Non-ASCII that local parts and domains may both have. */
const LETTER = "(?![\\p{Z}\\p{Cc}])[^\\0-\\x7f]";
const LOCAL = `(?:[A-Za-z0-9!#$%&'*+/=?^_\`{|}~.-]|${LETTER})`;
/** Quotes, brackets, full-width punctuation: in no domain name. */
const NOT_IN_DOMAIN =
  "\\p{Ps}\\p{Pe}\\p{Pi}\\p{Pf}\\p{Pd}\\u2026\\u3001\\uff01\\uff02\\uff07\\uff0c\\uff0f\\uff1a\\uff1b\\uff1c\\uff1e\\uff1f\\uff20\\uff5c";
const DOMAIN = `(?:[A-Za-z0-9.-]|(?![${NOT_IN_DOMAIN}])${LETTER})`;
/** Twice RFC 5321's 64 octets, for the backslashes. */
const QUOTED = `"(?:[^"\\\\]|\\\\.){1,128}"(?=@)`;

/** Cuts a text into quoted local parts, runs of characters of local parts, `@` with the domain behind it, and single others. */
const TOKENS = new RegExp(`${QUOTED}|${LOCAL}+|@${DOMAIN}*|[^]`, "gu");

/** Quotes and brackets that are no ASCII: behind a domain, the last of these before it is its partner. */
// biome-ignore format: a table.
const OPENERS: Readonly<Record<string, string>> = {
  "”": "“„", "“": "„", "’": "‘‚", "‘": "‚", "»": "«", "«": "»", "›": "‹", "‹": "›",
  "」": "「", "』": "『", "】": "【", "》": "《", "〉": "〈", "〕": "〔",
  "）": "（", "］": "［", "｝": "｛", "＞": "＜", "＂": "＂", "＇": "＇",
};
/** ASCII characters that may begin a local part: they are a wrapping only on both sides. */
// biome-ignore format: a table.
const PAIRED: Readonly<Record<string, string>> = {
  "'": "'", "`": "`", "*": "*", _: "_", "~": "~", "|": "|", "}": "{",
};

const PUNCTUATION = ".,;:!?'…。．｡、，；：！？";
/** Separators of addresses without a space; the last three may also occur in a local part. */
const SEPARATORS = `${PUNCTUATION}/|&`;
const EDGE = `[\\s\\p{Z}()<>[\\]"]`;

const ENDS_ADDRESS = new RegExp(`^[${PUNCTUATION}]*(?:$|${EDGE})`, "u");
const SEPARATES = new RegExp(`^[${SEPARATORS}]+$`, "u");
const BEGINS_ADDRESS = new RegExp(`(?:^|${EDGE})$|^[${PUNCTUATION}]+$`, "u");
/** `Email:jane@…`. Another word with a colon may be a name of a user or a protocol. */
const LABEL = /(?:^|[^A-Za-z0-9])(?:mailto|smtp|e-?mail|mail|to|cc|bcc|from):$/i;
const LABEL_CHARS = 16;
const FULL_WIDTH_COLON = "：";
/** Quotes and brackets beyond ASCII. */
const QUOTE = "(?![\\0-\\x7f])[\\p{Ps}\\p{Pe}\\p{Pi}\\p{Pf}\\uff02\\uff07]";
const HAS_QUOTE = new RegExp(QUOTE, "u");
/**
 * Characters at the start of a mention that begin no local part: these quotes, apostrophes, and joiners and selectors
 * without a character before them.
 */
const LEADING = new RegExp(`^(?:${QUOTE}|'|\\u200c|\\u200d|[\\ufe00-\\ufe0f])+`, "u");
/** Between a name that is an address too, and the address: `jane@old.test <jane@new.test>`. */
const NAME_BEFORE_ANGLE = /^["'\s]*<$/;

/** A mention as found; `from` and `to` are its position without its wrapping. */
interface Found {
  from: number;
  to: number;
  local: string;
  domain: string;
  /** Something wrapped round it, or a label before it, shows where it begins. */
  isClosed: boolean;
  /** Brackets and quotes behind it whose partners were found before it. */
  closers: Set<string>;
}

/** All that a text says with an `@`, in order. */
export function mentionsIn(text: string): Mention[] {
  const found = find(text);
  const mentions: Mention[] = [];
  for (const [i, one] of found.entries()) {
    const before = text.slice(found[i - 1]?.to ?? 0, one.from);
    const next = found[i + 1];
    const behind = text.slice(one.to, next?.from ?? text.length);
    // The name of the one in angle brackets.
    if (next !== undefined && NAME_BEFORE_ANGLE.test(behind) && text[next.to] === ">") continue;
    const isClean =
      one.local !== "" &&
      one.domain !== "" &&
      (one.isClosed || begins(before, i > 0)) &&
      ends(behind, next !== undefined);
    mentions.push({ text: `${one.local}@${one.domain}`, isClean });
  }
  return mentions;
}

function begins(before: string, isFollowing: boolean): boolean {
  if (isFollowing && before === "") return false;
  if (isFollowing && SEPARATES.test(before)) return true;
  return BEGINS_ADDRESS.test(before) || LABEL.test(before.slice(-LABEL_CHARS));
}

function ends(behind: string, isFollowed: boolean): boolean {
  if (isFollowed && behind === "") return false;
  return ENDS_ADDRESS.test(behind) || (isFollowed && SEPARATES.test(behind));
}

function find(text: string): Found[] {
  const found: Found[] = [];
  let local = "";
  let endedAt = 0;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (!token.startsWith("@")) {
      // Text directly before a quoted local part belongs to it, until it is unwrapped.
      if (/^"./.test(token)) local += token;
      else local = isRun(token) ? token : "";
      continue;
    }
    const one = unwrap(text, endedAt, index - local.length, local, token.slice(1));
    found.push(one);
    endedAt = one.to;
    local = "";
  }
  return found;
}

const RUN = new RegExp(`^${LOCAL}`, "u");
const isRun = (token: string) => RUN.test(token);

/** Removes wrapping directly around the address. @param endedAt end of the mention before it */
function unwrap(text: string, endedAt: number, start: number, run: string, domainRun: string): Found {
  const domain = domainRun.replace(/(?<![.。．｡])[.。．｡]+$/, "");
  const one = {
    from: start,
    to: start + run.length + 1 + domain.length,
    local: run,
    domain,
    isClosed: false,
    closers: new Set<string>(),
  };
  if (start === endedAt && start > 0) drop(one, (/^[/|&、，；：]+/.exec(run)?.[0] ?? "").length);
  while (close(one, text, one.to, text.slice(endedAt, one.from))) one.to += 1;
  for (let at = behindMarks(text, one.to); closeBracket(one, text, at, text.slice(endedAt, one.from)); ) {
    one.to = at + 1;
    at = behindMarks(text, one.to);
  }
  const label = unquoted(one.local).lastIndexOf(FULL_WIDTH_COLON) + 1;
  if (label > 0) one.isClosed = true;
  drop(one, label);
  dropLeading(one);
  return one;
}

const MARKS = new RegExp(`[\\s\\p{Z}${PUNCTUATION}]*`, "uy");

/** Behind spaces and punctuation. */
function behindMarks(text: string, at: number): number {
  MARKS.lastIndex = at;
  MARKS.test(text);
  return MARKS.lastIndex;
}

/**
 * True when the character at `at` closes a wrapping; its opening is then dropped from the local part.
 * @param before the text before the mention
 */
function close(one: Found, text: string, at: number, before: string): boolean {
  const paired = PAIRED[text[at] ?? ""];
  if (paired === undefined) return closeBracket(one, text, at, before);
  if (!one.local.startsWith(paired)) return false;
  drop(one, 1);
  one.isClosed = true;
  return true;
}

function closeBracket(one: Found, text: string, at: number, before: string): boolean {
  const closer = text[at] ?? "";
  const openers = OPENERS[closer];
  if (openers === undefined) return false;
  // A run of closers does not search the whole text before it each time.
  if (one.closers.has(closer)) return true;
  const head = unquoted(one.local);
  const opened = Math.max(...[...openers].map((opener) => head.lastIndexOf(opener)));
  if (opened < 0 && ![...openers].some((opener) => before.includes(opener))) return false;
  one.closers.add(closer);
  if (opened < 0) return true;
  drop(one, opened + 1);
  one.isClosed = true;
  return true;
}

/** Quotes may be closed further behind or not at all: `“jane@example.com (Jane)”`, `“jane@example.com`. */
function dropLeading(one: Found): void {
  const leading = LEADING.exec(one.local)?.[0] ?? "";
  if (HAS_QUOTE.test(leading)) one.isClosed = true;
  // `from` is unchanged: the text before it shows whether an address begins here at all.
  one.local = one.local.slice(leading.length);
}

/** The part before a quote. */
function unquoted(local: string): string {
  const quote = local.indexOf('"');
  return quote < 0 ? local : local.slice(0, quote);
}

function drop(one: Found, chars: number): void {
  one.local = one.local.slice(chars);
  one.from += chars;
}
