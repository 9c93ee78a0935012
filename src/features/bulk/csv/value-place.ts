/**
 * Where a field's value stands: in bytes that were read, or, where these have it with quotes or in pieces, in a copy. Millions of
 * addresses are looked at as they stand; a string for each is 0.15 us, and as much again to look into it.
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
