import { isUtf8 } from "node:buffer";

/** Encodings that a list may be in, by their names in the WHATWG's Encoding Standard. Others have to be named by an option. */
export const ENCODINGS: readonly string[] = [
  ..."utf-8 shift_jis euc-jp gbk gb18030 big5 euc-kr koi8-r koi8-u ibm866 macintosh windows-874".split(" "),
  ...Array.from({ length: 9 }, (_, i) => `windows-125${i}`),
  ...[1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16].map((part) => `iso-8859-${part}`),
];

/** Characters that make up the text of a language, and the encoding that it is in. In order: the first that fits counts. */
const USUAL: readonly { encoding: string; usual: RegExp }[] = [
  { encoding: "shift_jis", usual: /[\u3000-\u30ff\u4e00-\u9fff]/g },
  { encoding: "euc-kr", usual: /[\uac00-\ud7a3]/g },
  { encoding: "gbk", usual: /[\u3000-\u303f\uff00-\uff5e\u4e00-\u9fff]/g },
  { encoding: "big5", usual: /[\u3000-\u303f\uff00-\uff5e\u4e00-\u9fff]/g },
  { encoding: "windows-1251", usual: /[\u0410-\u042f\u0401]?[\u0430-\u044f\u0451]{2,}/g },
  { encoding: "koi8-r", usual: /[\u0410-\u042f\u0401]?[\u0430-\u044f\u0451]{2,}/g },
];
/** Chinese encodings share their bytes: of the first bytes of characters, those of the commonest ones. */
const COMMON_FIRST_BYTES: Readonly<Record<string, RegExp>> = {
  gbk: /[\xb0-\xd7][\xa1-\xfe]|[\xa1\xa3][\xa1-\xfe]/g,
  big5: /[\xa4-\xc6][\x40-\x7e\xa1-\xfe]|[\xa1-\xa3][\x40-\x7e\xa1-\xfe]/g,
};
const USUAL_SHARE = 0.8;
/** Fewer characters say nothing. */
const CHARACTERS_MIN = 3;

function decoded(bytes: Buffer, encoding: string): string | undefined {
  // The sample may end within a character.
  for (const cut of [0, 1])
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, bytes.length - cut));
    } catch {}
  return undefined;
}

/**
 * The encoding of a list that is no UTF-8, by its first bytes: one whose text is all valid, and nearly all of characters that its
 * language is written with. Undefined: UTF-8, or windows-1252 value by value.
 */
export function detectEncoding(head: Buffer): string | undefined {
  const isUnicode = [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, Math.max(0, head.length - cut))));
  if (isUnicode) return undefined;
  for (const { encoding, usual } of USUAL) {
    const text = decoded(head, encoding);
    const foreign = text?.match(/[^\0-\x7f]/g)?.length ?? 0;
    if (text === undefined || foreign < CHARACTERS_MIN) continue;
    const found = (text.match(usual) ?? []).join("").length;
    if (found < USUAL_SHARE * foreign) continue;
    const common = COMMON_FIRST_BYTES[encoding];
    const pairs = common === undefined ? foreign : (head.toString("latin1").match(common)?.length ?? 0);
    if (pairs >= USUAL_SHARE * foreign) return encoding;
  }
  return undefined;
}
