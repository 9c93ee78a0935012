/**
 * Most calls that a request, a row or an address may cost, beyond its CPU. Counts are the same on a slow machine as on
 * a fast one, unlike times. A count above its bound has grown by a third or more: find the code that makes more calls,
 * or say here why it must.
 *
 * `each` is for every unit. `perS` is for work that depends on the clock (leases, renewals, polls) while the units are
 * processed, however long the machine takes. `least`, for every unit: below it the counter is broken, or the work was
 * not done.
 */
export interface Bound {
  unit: string;
  /** As counted when the bound was set, for a unit. */
  today: number;
  each: number;
  perS?: number;
  least?: number;
  why: string;
}

const LEASED = "leases of rate and quota are taken ahead, so that a cached answer asks nobody";

export const BOUNDS = {
  "cached.redis.scripts": { unit: "request", today: 0.05, each: 0.03, perS: 30, why: LEASED },
  "cached.redis.reads": { unit: "request", today: 0, each: 0.01, perS: 5, why: "the cache is in memory" },
  "cached.postgres.transactions": { unit: "request", today: 0.05, each: 0.02, perS: 25, why: LEASED },
  "uncached.redis.reads": {
    ...{ unit: "request", today: 0.11, each: 1.05, perS: 5, least: 0.01 },
    why: "one look for all misses of a turn of the event loop; where each has a turn of its own, one each",
  },
  "uncached.redis.scripts": {
    ...{ unit: "request", today: 0.17, each: 1.05, perS: 30, least: 0.01 },
    why: "one write for all that was learnt in a turn, beside the leases",
  },
  "uncached.redis.entries": {
    unit: "request",
    today: 1,
    each: 1.1,
    least: 1,
    why: "what was learnt is kept once",
  },
  "uncached.postgres.transactions": { unit: "request", today: 0.06, each: 0.02, perS: 30, why: LEASED },
  "uncached.redis.entry_bytes": {
    ...{ unit: "entry", today: 70, each: 110, least: 40 },
    why: "evidence of a probed address as Redis has it: a few of a kind whole, 556 bytes each, the others short",
  },
  "batch.messages": {
    unit: "address",
    today: 0.002,
    each: 0.004,
    least: 0.002,
    why: "one message there, one back",
  },
  "batch.bytes": {
    ...{ unit: "address", today: 47, each: 62, least: 20 },
    why: "rows of a message refer to the evidence they share",
  },
  "probed.batch.bytes": {
    unit: "address",
    today: 49,
    each: 70,
    least: 20,
    why: "the same, with its own reply's latency",
  },
  "probed.messages": {
    ...{ unit: "address", today: 0.002, each: 0.02, perS: 50, least: 0.001 },
    why: "two a batch once there are connections; slots are asked for and given back by connections, not by addresses",
  },
  "singles.messages": {
    ...{ unit: "address", today: 0.002, each: 0.01, least: 0.002 },
    why: "checks of one tick cross together, and so do their answers",
  },
  "dns.unprobed": {
    unit: "domain",
    today: 3,
    each: 6,
    least: 3,
    why: "MX and what is signalled in TXT; repeats where an answer is slow",
  },
  "dns.probed": { unit: "domain", today: 4, each: 8, least: 4, why: "and the exchanger's address" },
  "smtp.connections": {
    ...{ unit: "address", today: 0.067, each: 0.1, least: 0.001 },
    why: "200 for 3 000 addresses: ten for each of 20 sites, kept open",
  },
  "smtp.rcpt": {
    unit: "address",
    today: 1.007,
    each: 1.03,
    least: 1,
    why: "each is asked about once, and a stranger for each domain",
  },
  "smtp.mail": { unit: "address", today: 1.007, each: 1.03, least: 0.01, why: "a transaction for each" },
  "smtp.commands": {
    unit: "address",
    today: 3.1,
    each: 3.4,
    least: 1,
    why: "MAIL, RCPT, RSET, and a greeting for each connection",
  },
  "smtp.turns.pipelined": {
    ...{ unit: "address", today: 0.31, each: 0.5, least: 0.01 },
    why: "some ten recipients a write, once a server has shown that it bears it",
  },
  "smtp.turns.lock_step": {
    unit: "address",
    today: 3.1,
    each: 3.4,
    least: 1,
    why: "a round trip for each command",
  },
  "bulk.unprobed.redis.reads": {
    unit: "row",
    today: 0.004,
    each: 0.006,
    perS: 5,
    why: "a look for the chunk's rows, some at a time",
  },
  "bulk.unprobed.postgres.transactions": {
    unit: "chunk",
    today: 10.6,
    each: 14,
    perS: 15,
    least: 1,
    why: "for a task its start and its end; the rest is the job's",
  },
  "bulk.unprobed.objects": {
    unit: "chunk",
    today: 3.8,
    each: 5.2,
    least: 3,
    why: "its rows read, its shard written and read; the job's source and results",
  },
  "bulk.probed.redis.reads": {
    unit: "row",
    today: 0.009,
    each: 0.015,
    perS: 15,
    why: "the same, and what is known of each domain",
  },
  "bulk.probed.redis.scripts": {
    unit: "row",
    today: 0.012,
    each: 0.02,
    perS: 40,
    why: "a write for what some hundred rows taught; caps of sites",
  },
  "bulk.probed.postgres.transactions": {
    unit: "chunk",
    today: 10.2,
    each: 14,
    perS: 15,
    least: 1,
    why: "no more than without probing",
  },
  "bulk.probed.objects": {
    unit: "chunk",
    today: 3.8,
    each: 8,
    least: 3,
    why: "no more than without probing",
  },
  "bulk.probed.rcpt": {
    unit: "row",
    today: 1.004,
    each: 1.1,
    least: 1,
    why: "each row is asked about once, and a stranger for each domain",
  },
  "bulk.probed.connections": {
    unit: "row",
    today: 0.04,
    each: 0.08,
    least: 0.001,
    why: "200 at once, kept from chunk to chunk",
  },
  "bulk.probed.turns": {
    unit: "row",
    today: 0.24,
    each: 0.4,
    least: 0.01,
    why: "recipients go out together",
  },
  "bulk.cached.redis.entries": {
    unit: "row",
    today: 0,
    each: 0.01,
    perS: 5,
    why: "what is known is not written again",
  },
  "bulk.cached.rcpt": { unit: "row", today: 0, each: 0.01, why: "what is known is not asked again" },
  "bulk.cached.objects": {
    unit: "chunk",
    today: 3.8,
    each: 8,
    least: 3,
    why: "no more than without probing",
  },
  "bulk.shard.bytes": { unit: "row", today: 53, each: 75, least: 10, why: "a shard as it is uploaded" },
  "bulk.large.shard.bytes": {
    ...{ unit: "row", today: 7.2, each: 12, least: 1 },
    why: "the same of a chunk of a long list, zipped; latencies of a slow machine have more digits",
  },
  "bulk.evidence.shard.bytes": {
    ...{ unit: "row", today: 31, each: 44, least: 10 },
    why: "rows with evidence fill no template: each in full, zipped",
  },
  "bulk.large.objects": {
    unit: "chunk",
    today: 6,
    each: 8,
    least: 4,
    why: "its rows read twice, its shard written and read, and two results",
  },
  "bulk.results.bytes": {
    unit: "row",
    today: 1_060,
    each: 1_300,
    least: 300,
    why: "a line of JSON; its fields are the API's",
  },
} as const satisfies Record<string, Bound>;

export type BoundId = keyof typeof BOUNDS;
