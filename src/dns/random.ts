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

/** An unpredictable message id that `isTaken` accepts. */
export function randomId(isTaken: (id: number) => boolean): number {
  for (;;) {
    const id = randomWord();
    if (!isTaken(id)) return id;
  }
}

/**
 * `name` (lower case) with each letter randomly in upper or lower case. A server that echoes it returns one secret bit a
 * letter, which an off-path attacker must guess besides the id and the port ("0x20").
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
