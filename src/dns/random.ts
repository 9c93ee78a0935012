import { randomFillSync } from "node:crypto";

const words = new Uint16Array(1_024);
let next = words.length;

/** 16 unpredictable bits; drawn in blocks. */
function randomWord(): number {
  if (next === words.length) {
    randomFillSync(words);
    next = 0;
  }
  return words[next++] ?? 0;
}

/** An unpredictable message id that `isTaken` does not refuse. */
export function randomId(isTaken: (id: number) => boolean): number {
  for (;;) {
    const id = randomWord();
    if (!isTaken(id)) return id;
  }
}

/**
 * `name` (lower case) with each letter in upper or lower case by chance. A server that echoes it hands back one secret
 * bit a letter: what an attacker off the path must guess beside the id and the port ("0x20").
 */
export function randomCase(name: string): string {
  const upper = name.toUpperCase();
  let mixed = "";
  let bits = 0;
  for (let i = 0; i < name.length; i++) {
    if (i % 16 === 0) bits = randomWord();
    mixed += (bits & 1) === 0 ? name[i] : upper[i];
    bits >>= 1;
  }
  return mixed;
}
