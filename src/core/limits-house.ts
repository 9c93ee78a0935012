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
} as const;
