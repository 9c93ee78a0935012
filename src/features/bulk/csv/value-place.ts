/**
 * Place of a field's value: in the bytes read, or in a copy if the value is quoted or in pieces. Millions of addresses are
 * examined in place; a string for each costs 0.15 us, and reading it as much again.
 */
export interface ValuePlace {
  bytes: Buffer;
  from: number;
  /** Behind its last byte. */
  to: number;
}

/** The value, latin1. */
export function valueAt({ bytes, from, to }: ValuePlace): string {
  return from === to ? "" : bytes.toString("latin1", from, to);
}
