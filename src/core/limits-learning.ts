/** Bounds of what is asked about again in the background, and of what is learnt of sites over time. */

export const RECHECK_LIMITS = {
  /** Addresses that wait to be asked about again, and the share of them that one team may have. */
  pending: 10_000,
  teamShare: 4,
  /** Under way, and of the checks a process may have under way only while they are fewer than this share. */
  atOnce: 50,
  loadShare: 4,
  /** Requests go first; those that are due look again after this. */
  busyMs: 1_000,
  attempts: 3,
  /** A server that names no delay is asked again after the usual one of greylisting. */
  usualS: 300,
  minS: 10,
  maxS: 3_600,
  /** A server counts from when it answered, in seconds of its own. */
  slackS: 1,
} as const;
