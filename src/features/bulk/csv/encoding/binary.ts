const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

/** Signatures at the start of files, and the description of each. The first match counts. */
const SIGNATURES: readonly { start: Buffer; holds?: string; is: string }[] = [
  { start: bytes("PK\x03\x04"), holds: "xl/", is: "a compressed Excel workbook (.xlsx)" },
  { start: bytes("PK\x03\x04"), holds: "[Content_Types].xml", is: "an Office document" },
  { start: bytes("PK\x03\x04"), holds: "opendocument", is: "an OpenDocument file" },
  { start: bytes("PK\x03\x04"), holds: "Index/", is: "a Numbers or Pages document" },
  { start: bytes("PK\x03\x04"), is: "a ZIP archive" },
  { start: bytes("PK\x05\x06"), is: "an empty ZIP archive" },
  {
    start: bytes("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    is: "an old Excel workbook (.xls), a workbook with a password, or another Office file",
  },
  { start: bytes("\x1f\x8b"), is: "compressed twice with gzip" },
  { start: bytes("%PDF-"), is: "a PDF document" },
  { start: bytes("{\\rtf"), is: "an RTF document" },
  { start: bytes("\x89PNG"), is: "an image (PNG)" },
  { start: bytes("\xff\xd8\xff"), is: "an image (JPEG)" },
  { start: bytes("GIF8"), is: "an image (GIF)" },
  { start: bytes("7z\xbc\xaf\x27\x1c"), is: "a 7-Zip archive" },
  { start: bytes("Rar!\x1a\x07"), is: "a RAR archive" },
  { start: bytes("BZh"), holds: "1AY&SY", is: "compressed with bzip2, and only gzip is read" },
  { start: bytes("\xfd7zXZ\x00"), is: "compressed with xz, and only gzip is read" },
  { start: bytes("\x28\xb5\x2f\xfd"), is: "compressed with Zstandard, and only gzip is read" },
  { start: bytes("PAR1"), is: "a Parquet file" },
  { start: bytes("SQLite format 3\x00"), is: "an SQLite database" },
  { start: bytes("\xff\xfe\x00\x00"), is: "UTF-32 text, and only UTF-8 and UTF-16 are read" },
  { start: bytes("\x00\x00\xfe\xff"), is: "UTF-32 text, and only UTF-8 and UTF-16 are read" },
];

/** Starts of text files that are not tables, after a byte order mark and spaces. The first match counts. */
const TEXTS: readonly { start: RegExp; is: string }[] = [
  { start: /^<(?:!doctype\b|html[\s>])/i, is: "a web page" },
  { start: /^<\?xml\b/i, is: "an XML document" },
  { start: /^\[\s*[[{"]/, is: "JSON" },
  { start: /^\{\s*"[^"]*"\s*:/, is: "JSON, or a JSON object on each line" },
];

const BEFORE_TEXT = /^(?:\xef\xbb\xbf)?[\t\r\n ]*/;
/** Bytes of a file that these are matched against: the first name in a JSON text is shorter. */
const TEXT_BYTES = 512;

/** Describes a file that certainly is not a list; undefined: it may be a list. */
export function knownBinary(head: Buffer): string | undefined {
  for (const { start, holds, is } of SIGNATURES) {
    if (
      head.subarray(0, start.length).equals(start) &&
      (holds === undefined || head.includes(holds, 0, "latin1"))
    ) {
      return is;
    }
  }
  const text = head.toString("latin1", 0, TEXT_BYTES).replace(BEFORE_TEXT, "");
  return TEXTS.find(({ start }) => start.test(text))?.is;
}

/** Text has at most one NUL in a thousand bytes, or a few in a short text: some exports have stray ones. */
const STRAY_NULS = 3;

/** Control characters that text does not have, unlike tab, line ends and form feed: a short file with some is not a list. */
const CONTROLS = /[\x01-\x08\x0e-\x19\x1b\x7f]/g;

/** @param head without the padding at its end */
export function hasManyNuls(head: Buffer): boolean {
  let nuls = 0;
  for (let i = head.indexOf(0); i >= 0; i = head.indexOf(0, i + 1)) nuls += 1;
  if (nuls * 1_000 <= head.length) return false;
  return nuls > STRAY_NULS || (head.toString("latin1").match(CONTROLS)?.length ?? 0) > 0;
}
