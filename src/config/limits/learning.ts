/** Bounds of background rechecks, and of learned behaviour of sites. */

export const RECHECK_LIMITS = {
  /** Addresses waiting for a recheck, and the share of them that one team may have. */
  pending: 10_000,
  teamShare: 4,
  /** In progress at a site: other sites must not wait for a slow one. */
  perSite: 5,
  /** In progress, and only while they are fewer than this share of the checks a process may run. */
  atOnce: 50,
  loadShare: 4,
  /** Requests go first; due rechecks try again after this. */
  busyMs: 1_000,
  /** A recheck begins at most this late: how often all that wait are looked through, at most. */
  lateMs: 100,
  attempts: 3,
  /** A server that names no delay is asked again after the usual one of greylisting. */
  usualS: 300,
  minS: 10,
  maxS: 3_600,
  /** A server counts from its answer, in whole seconds of its own. */
  slackS: 1,
} as const;

/** Sites whose answers at RCPT prove nothing: learned, shared and unlearned. */
export const LEARNED_BEHAVIOUR_LIMITS = {
  /** A thread reports refusals after this many in a row at a site: elsewhere they cost no message. */
  quietRun: 10,
  /**
   * Unknown-recipient refusals in a row, within `runMs`: this many addresses of this many registrable domains raise a
   * doubt.
   */
  addresses: 50,
  domains: 10,
  runMs: 3_600_000,
  /** The part of a run that is kept: postmasters are asked at domains drawn from it. */
  addressesKept: 200,
  domainsKept: 200,
  /** Postmasters that must be refused too, and how many are asked where some give no answer. */
  controls: 3,
  controlsTried: 6,
  /** Time for each question to a postmaster, and for one whole control. */
  controlBudgetMs: 10_000,
  controlsBudgetMs: 30_000,
  /**
   * After a postmaster was accepted, or learned behaviour was dropped, no postmaster is asked and nothing is learned for
   * `controlEveryMs`; after silence for `silenceRestMs`.
   */
  controlEveryMs: 3_600_000,
  silenceRestMs: 300_000,
  /** Catch-all probes at this many registrable domains of a site, all accepted. */
  catchAllProbeDomains: 30,
  catchAllProbesKept: 100,
  catchAllProbeKeptMs: 172_800_000,
  /** One in this many checks at such a site probes all the same; and the first of each of this many domains. */
  exploreEvery: 20,
  exploreDomains: 100,
  heldMs: 43_200_000,
  /** How long an answer based on learned behaviour is kept. */
  answerKeptS: 3_600,
  /** Counted sites, those touched longest ago go first; and learned behaviours. */
  sites: 2_000,
  behaviours: 1_000,
  syncEveryMs: 10_000,
  /** Minimum interval at which a thread reports that a site accepts, or refuses, unless there is a doubt. */
  acceptedEveryMs: 1_000,
} as const;

/** The operator's command `reclassify`. */
export const RECLASSIFY_LIMITS = {
  keysPerScan: 200,
  lineBytes: 1_048_576,
  /** Length of a text in a line of a file. */
  fieldChars: 4_096,
  examples: 10,
  examplesMax: 1_000,
  /** Distinct transitions counted separately; the rest together. */
  transitions: 500,
} as const;
