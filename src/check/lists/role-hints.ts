/** Bits, a power of two: of some 1 200 roles one name in fifty that is none has the bit of one. */
const BITS = 65_536;

function bitOf(length: number, first: number, second: number, last: number): number {
  return (((length * 31 + first) * 31 + second) * 31 + last) & (BITS - 1);
}

/** Which names may be roles, by their length and three characters, in shared memory: most are told apart by that, with no text made of them. */
export function buildRoleHints(roles: readonly string[]): SharedArrayBuffer {
  const hints = new SharedArrayBuffer(BITS / 8);
  const bits = new Uint8Array(hints);
  for (const role of roles) {
    const { length } = role;
    const second = role.charCodeAt(Math.min(1, length - 1));
    const bit = bitOf(length, role.charCodeAt(0), second, role.charCodeAt(length - 1));
    bits[bit >> 3] = (bits[bit >> 3] as number) | (1 << (bit & 7));
  }
  return hints;
}

/** Of a name in lower case; of one character the second is the first. */
export type MayBeRole = (length: number, first: number, second: number, last: number) => boolean;

/** Never false of a role. */
export function openRoleHints(hints: SharedArrayBuffer): MayBeRole {
  const bits = new Uint8Array(hints);
  return (length, first, second, last) => {
    const bit = bitOf(length, first, second, last);
    return (((bits[bit >> 3] as number) >> (bit & 7)) & 1) === 1;
  };
}
