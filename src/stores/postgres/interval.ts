/** A duration for `::interval`. In seconds: PostgreSQL 14 takes no more than 2^31 milliseconds, less than 25 days. */
export const intervalOf = (ms: number): string => `${(ms / 1_000).toFixed(6)} seconds`;
