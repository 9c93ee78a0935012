const LF = 0x0a;
/** Matches a line that begins a message: `From sender@example.com Sat Nov 28 12:00:00 2026`. */
const FROM = Buffer.from("From ");

const isEmptyLine = (bytes: Buffer, end: number): boolean =>
  bytes[end - 1] === LF &&
  (end === 1 || bytes[end - 2] === LF || (bytes[end - 2] === 0x0d && bytes[end - 3] === LF));

/** True at the start of a message: at the start of the file, or after an empty line. */
function beginsAt(bytes: Buffer, at: number): boolean {
  return bytes.subarray(at, at + FROM.length).equals(FROM) && (at === 0 || isEmptyLine(bytes, at));
}

/** True when the bytes begin as an mbox does. */
export const isMbox = (bytes: Buffer): boolean => beginsAt(bytes, 0);

/** The messages of an mbox (RFC 4155), each without its `From ` line. Lines quoted as `>From ` are not unquoted. */
export function* messagesOf(bytes: Buffer): Generator<Buffer> {
  let start = bytes.indexOf(LF) + 1;
  if (start === 0) return;
  for (;;) {
    const next = nextStart(bytes, start);
    yield bytes.subarray(start, next < 0 ? bytes.length : next);
    if (next < 0) return;
    start = bytes.indexOf(LF, next) + 1;
    if (start === 0) return;
  }
}

/** Index of the next message's `From ` line; -1: there is none. */
function nextStart(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(FROM, from);
  while (at >= 0 && !beginsAt(bytes, at)) at = bytes.indexOf(FROM, at + 1);
  return at;
}
