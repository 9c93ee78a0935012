import { malformedAnswer } from "../http/errors.ts";

const LF = 0x0a;

function parse(bytes: Uint8Array[], decoder: InstanceType<typeof TextDecoder>): unknown {
  const text = bytes.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformedAnswer(error);
  }
}

/**
 * The values of JSON lines, however their bytes are split. Skips blank lines.
 * @throws RcptError `malformed_answer` at a line that is not JSON; errors of `pieces`
 */
export async function* readJsonLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder("utf-8", { fatal: false });
  let open: Uint8Array[] = [];
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(LF); end >= 0; end = piece.indexOf(LF, start)) {
      open.push(piece.subarray(start, end));
      start = end + 1;
      const value = parse(open, decoder);
      open = [];
      if (value !== undefined) yield value;
    }
    if (start < piece.length) open.push(piece.subarray(start));
  }
  const last = parse(open, decoder);
  if (last !== undefined) yield last;
}
