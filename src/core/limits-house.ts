/** Bounds of preflight: what is asked about our own addresses, names and ways out. */
export const HOUSE_LIMITS = {
  /** Between two runs, by chance up to `jitter` of it more or less; the mean is a setting. */
  jitter: 0.1,
  /** Ways that are looked at at once. */
  waysAtOnce: 4,
  /** Of one provider's exchanger: connection, greeting, EHLO, TLS. */
  greetMs: 10_000,
  /** Lists of addresses that are asked. */
  zones: 16,
  /** Of what a list says of a listing. */
  codesTold: 4,
  textChars: 200,
  /** Addresses that servers see us come from, behind one way: those of a NAT pool. */
  addresses: 8,
  /** An address that was seen, a failure that could not be looked at again, a time of doubt: longest life of what rests on it. */
  rememberedMs: 86_400_000,
  /** Times of doubt of a way; the two oldest become one. */
  doubts: 16,
  /** After a look that could not tell something that may be serious, and how often in a row. */
  againMs: 60_000,
  againTimes: 5,
  /** Who looks for all processes of its egress says so anew after each way; longer than one takes. */
  leadMs: 60_000,
  /** The others ask so often what was found; where nothing is known yet, after the shorter time. */
  followMs: 10_000,
  followFirstMs: 1_000,
  /** What others found is waited for no longer when a process starts, and kept for so long. */
  readMs: 500,
  sharedS: 86_400,
} as const;
