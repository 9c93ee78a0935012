/** Bytes of each character that the encoding has in one or two bytes. */
function tableOf(encoding: string): Map<string, number[]> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const table = new Map<string, number[]>();
  const add = (bytes: number[]): void => {
    try {
      const text = decoder.decode(Uint8Array.from(bytes));
      if ([...text].length === 1 && !table.has(text)) table.set(text, bytes);
    } catch {}
  };
  for (let first = 0; first < 256; first += 1) add([first]);
  if (/jis|euc|gb|big/.test(encoding))
    for (let first = 0x81; first < 0xff; first += 1)
      for (let second = 0x40; second < 0xff; second += 1) add([first, second]);
  // One four-byte character: U+3400.
  if (encoding === "gb18030") add([0x81, 0x39, 0xee, 0x39]);
  // Node's own windows-1252 has controls there in some versions.
  if (encoding === "windows-1252")
    for (const [at, letter] of [..."€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ"].entries())
      if (letter !== " ") table.set(letter, [0x80 + at]);
  return table;
}

const tables = new Map<string, Map<string, number[]>>();

/** Text in an encoding. @throws where the encoding lacks a character */
export function encodedIn(text: string, encoding: string): Buffer {
  const table = tables.get(encoding) ?? tableOf(encoding);
  tables.set(encoding, table);
  return Buffer.from(
    [...text].flatMap((letter) => {
      const bytes = table.get(letter);
      if (bytes === undefined) throw new Error(`${encoding} has no ${letter}`);
      return bytes;
    }),
  );
}
