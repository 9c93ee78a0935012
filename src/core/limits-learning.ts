/** Bounds of what is asked about again in the background, and of what is learnt of sites over time. */

export const RECHECK_LIMITS = {
  /** Addresses that wait to be asked about again, and the share of them that one team may have. */
  pending: 10_000,
  teamShare: 4,
  /** Under way at a site: the others' servers need not wait for one that is slow. */
  perSite: 5,
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

/** Sites whose answers at RCPT tell nothing: learnt, shared and unlearnt. */
export const BELIEF_LIMITS = {
  /** A thread tells of refusals once so many came in a row at a site: elsewhere it costs no message. */
  quietRun: 10,
  /** Refused as unknown in a row, within `runMs`: so many addresses of so many registrable domains make us doubt. */
  addresses: 50,
  domains: 10,
  runMs: 3_600_000,
  /** What is kept of a run: postmasters are asked at domains drawn from it. */
  addressesKept: 200,
  domainsKept: 200,
  /** Postmasters that must be refused too, and how many are asked where some bring no answer. */
  controls: 3,
  controlsTried: 6,
  /** For each question to a postmaster, and for all of one doubt. */
  controlBudgetMs: 10_000,
  controlsBudgetMs: 30_000,
  /** No postmaster is asked, and no belief formed, so long after one was accepted or a belief fell; nor after silence. */
  controlEveryMs: 3_600_000,
  silenceRestMs: 300_000,
  /** Strangers of so many registrable domains were asked at a site, and all were accepted. */
  strangerDomains: 30,
  strangersKept: 100,
  strangerKeptMs: 172_800_000,
  /** Of the checks at such a site, one in so many asks all the same; and the first of each of so many domains. */
  exploreEvery: 20,
  exploreDomains: 100,
  heldMs: 43_200_000,
  /** How long an answer is kept that rests on what was learnt. */
  answerKeptS: 3_600,
  /** Sites that are counted, those that were touched longest ago go first; and beliefs. */
  sites: 2_000,
  beliefs: 1_000,
  syncEveryMs: 10_000,
  /** A thread tells that a site accepts, or refuses, no more often, unless somebody doubts it. */
  acceptedEveryMs: 1_000,
} as const;

/** The operator's command `reclassify`. */
export const RECLASSIFY_LIMITS = {
  keysPerScan: 200,
  lineBytes: 1_048_576,
  /** Of a text in a line of a file. */
  fieldChars: 4_096,
  examples: 10,
  examplesMax: 1_000,
  /** Different transitions that are counted by themselves; the rest together. */
  transitions: 500,
} as const;
