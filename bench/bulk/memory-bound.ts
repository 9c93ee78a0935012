import { LIMITS } from "../../src/config/limits/limits.ts";
import { createRepeatFinder } from "../../src/features/bulk/analysis/repeat-finder.ts";
import type { Scratch } from "../../src/stores/scratch.ts";

/** One part of the memory that a process of the role `bulk` may have resident while it works on one job. */
export interface MemoryTerm {
  what: string;
  bytes: number;
}

export interface MemoryBasis {
  /** Resident when it was ready, before any work: code, lists, check threads. */
  readyBytes: number;
  /** Settings of the process. */
  threads: number;
  cacheEntries: number;
  /** Rows of the job. */
  rows: number;
  /** Most rows that the team may submit: it determines the memory of the repeat finder. */
  rowsMax: number;
}

const MIB = 1_048_576;
/** V8's young generation of one isolate: three semi-spaces of 16 MiB, which fill before they are collected. */
const YOUNG_BYTES = 3 * 16 * MIB;
/** The old generation may grow to about twice its live size before it is collected. */
export const HEAP_FACTOR = 2;
/** Bytes of an entry of the evidence cache: key, entry, evidence with its hosts. */
export const EVIDENCE_BYTES = 1_500;
/**
 * Bytes of a row in progress: its record, address, evidence, result, and both renderings in the shard. Rows with
 * evidence are the largest: they are never rendered from templates.
 */
const ROW_BYTES = 8_192;
/** Bytes of a template of results: a result, its evidence, and texts. */
const TEMPLATE_BYTES = 4_096;
/**
 * Bytes of the name of a remembered domain: the text read, the parsed name, its place in a table, its numbers.
 * Measured: 245 for the longest name, written in capitals; usually 124.
 */
const NAME_BYTES = 250;
/** Bytes of a domain's list of templates, where it has more than one, and its place in a table. */
const TEMPLATE_LIST_BYTES = 230;
/** Bytes of a shared part of evidence, with its JSON: measured with ten hosts, the most that are reported. */
const PART_BYTES = 1_650;
/**
 * Bytes of a domain's plan in a check thread, with its site and its fast route: 1.9 to 2.2 KB with one to ten hosts.
 */
const PLAN_BYTES = 2_500;
/** A chunk's source as bytes, as text and as records. */
const CHUNK_COPIES = 4;
/** Bytes of a row of an uncompressed shard during the join: its cells and its JSON. */
const STORED_BYTES = 1_024;
/** Bytes of a chunk while its job is analysed and assembled: range, repeats, key of its shard. */
const CHUNK_ENTRY_BYTES = 300;
/** Concurrent writers of one job: both results are written at the same time. */
const WRITERS = 2;
/** Buffers of one connection to a store, kernel aside. */
const SOCKET_BYTES = 131_072;
/** Share that the allocator keeps of freed buffers. */
const ALLOCATOR_SHARE = 0.1;

const NO_SCRATCH: Scratch = {
  open() {
    throw new Error("a finder without rows opens no file");
  },
};

/** Most bytes that the repeat finder of a job holds, as reported by an unused one with the same options. */
async function finderBytes(rowsMax: number): Promise<number> {
  const finder = createRepeatFinder(NO_SCRATCH, { rowsMax });
  await finder.finish();
  await finder.close();
  return finder.heldBytes();
}

/**
 * Bytes of results that repeats copy: blocks in memory, and 24 bytes for each block on disk, if half of the rows are
 * repeats.
 */
function copiesBytes(rows: number): number {
  const { blockBytes, blocksKept } = LIMITS.bulk.copies;
  return (blocksKept + 1) * blockBytes + 24 * Math.ceil((rows / 2) * (1_300 / blockBytes));
}

/** Memory of domains that is kept from list to list. Only the main thread parses addresses. */
function rememberedTerms(threads: number): MemoryTerm[] {
  const { domainNames, factsKept, findingsKept, plans } = LIMITS.check;
  const { templates, domains } = LIMITS.bulk.templates;
  const terms = [
    { what: `${templates} templates of results`, bytes: templates * TEMPLATE_BYTES },
    { what: `${domains} domains with several templates`, bytes: domains * TEMPLATE_LIST_BYTES },
    { what: `${domainNames} names of domains`, bytes: domainNames * NAME_BYTES },
    {
      what: `${factsKept} facts of domains, ${findingsKept} findings`,
      bytes: (factsKept + findingsKept) * PART_BYTES,
    },
    { what: `${threads} times ${plans} plans of domains`, bytes: threads * plans * PLAN_BYTES },
  ];
  return terms.map(({ what, bytes }) => ({ what, bytes: HEAP_FACTOR * bytes }));
}

/**
 * The bound on the resident set, as the sum of what the configuration and the limits allow. It grows with the rows of a
 * job by only a few hundred bytes for each thousand.
 */
export async function bulkMemoryTerms(basis: MemoryBasis): Promise<MemoryTerm[]> {
  const { readyBytes, threads, cacheEntries, rows, rowsMax } = basis;
  const { tasksAtOnce, chunkBytes, rowsPerChunk, rowsPerLargeChunk } = LIMITS.bulk;
  const { partBytes, operations, reads } = LIMITS.objects;
  const sockets = operations.atOnce + reads.atOnce;
  const chunks = Math.ceil(rows / rowsPerChunk);
  const { spansAhead, spanBytes, spanRows, partsInFlight } = LIMITS.results;
  // A span has a chunk at least.
  const joinedRows = Math.max(spanRows, rowsPerLargeChunk);
  const spans = (spansAhead + 1) * (spanBytes + joinedRows * STORED_BYTES);
  const task = chunkBytes * CHUNK_COPIES + rowsPerLargeChunk * ROW_BYTES;
  const terms = [
    { what: "process when it is ready", bytes: readyBytes },
    { what: `young generations of ${threads + 1} isolates`, bytes: (threads + 1) * YOUNG_BYTES },
    {
      what: `${cacheEntries} entries of the evidence cache`,
      bytes: HEAP_FACTOR * cacheEntries * EVIDENCE_BYTES,
    },
    ...rememberedTerms(threads),
    {
      what: `${tasksAtOnce} tasks of ${rowsPerLargeChunk} rows`,
      bytes: HEAP_FACTOR * tasksAtOnce * task,
    },
    { what: "finder of repeats", bytes: await finderBytes(rowsMax) },
    { what: `${chunks} chunks in tables`, bytes: HEAP_FACTOR * chunks * CHUNK_ENTRY_BYTES },
    { what: `${spansAhead + 1} spans of ${joinedRows} rows that are joined`, bytes: spans },
    { what: `${WRITERS} writers of objects`, bytes: WRITERS * partsInFlight * partBytes },
    { what: "copied results", bytes: copiesBytes(rows) },
    { what: `${sockets} connections to object storage`, bytes: sockets * SOCKET_BYTES },
  ];
  const sum = totalOf(terms);
  return [...terms, { what: "freed, kept by the allocator", bytes: Math.round(sum * ALLOCATOR_SHARE) }];
}

export function totalOf(terms: readonly MemoryTerm[]): number {
  return terms.reduce((sum, { bytes }) => sum + bytes, 0);
}
