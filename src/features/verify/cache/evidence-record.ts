import { HASH_CHARS } from "../../../platform/ids.ts";
import type { CacheEntry } from "./cache-entry.ts";

/**
 * Entries in Redis. `rcpt:ev:{p|u}:<hash>` has the ids of the data that the address shares with others, and its own data:
 * facts id (22) · finding id (22) · stored at (8) · TTL · " " · latency · [own reply, as JSON]. Numbers are in base 36.
 *
 * `rcpt:es:<id>` is the text of a domain's facts, or of a finding (verification/evidence). An id is its text's hash, so no
 * other text can be under it. If a text is missing or damaged, its entries are misses. Entries of earlier builds are misses
 * here, and ours are misses to them.
 */

/**
 * Shorter records are padded to this length: the script that writes them then needs no search for their ends, and jemalloc
 * allocates 64 bytes in any case.
 */
export const RECORD_CHARS = 60;
const TIME_CHARS = 8;
const TIME_BASE = 36;
/** ECMAScript's last moment: a later one cannot be shown. */
const LAST_MS = 8.64e15;

const RECORD =
  /^([\w-]{22})([\w-]{22})([0-9a-z]{8})([0-9a-z]{1,10}|=[0-9.e+-]+) ([0-9a-z]{1,10}|=[0-9.e+-]+) *("[^\n]*")?$/;
const IDS = /^[\w-]{52}/;

export interface EvidenceRecord {
  factsId: string;
  findingId: string;
  storedAt: number;
  ttlS: number;
  latencyMs: number;
  /** null: the finding's. */
  ownReply: string | null;
}

export const partKeyOf = (id: string): string => `rcpt:es:${id}`;

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;

function numberText(value: number): string {
  const short = isCount(value) ? value.toString(TIME_BASE) : "";
  return short !== "" && short.length <= 10 ? short : `=${value}`;
}

/** NaN: malformed. */
function numberOf(text: string): number {
  return text.startsWith("=") ? Number(text.slice(1)) : Number.parseInt(text, TIME_BASE);
}

/** @returns at least RECORD_CHARS, without a line end; null: it has a time that cannot be written */
export function recordText({ evidence, storedAt, ttlS }: CacheEntry): string | null {
  const { facts, finding, latencyMs, ownReply } = evidence;
  const time = isCount(storedAt) ? storedAt.toString(TIME_BASE).padStart(TIME_CHARS, "0") : "";
  if (time.length !== TIME_CHARS || !Number.isFinite(ttlS) || !Number.isFinite(latencyMs)) return null;
  const own = `${facts.id}${finding.id}${time}${numberText(ttlS)} ${numberText(latencyMs)}`;
  const filled = own.padEnd(RECORD_CHARS);
  return ownReply === null ? filled : filled + JSON.stringify(ownReply);
}

/** The ids at the start of a record; null: the text is not a record. */
export function idsIn(text: string): [facts: string, finding: string] | null {
  if (!IDS.test(text)) return null;
  return [text.slice(0, HASH_CHARS), text.slice(HASH_CHARS, 2 * HASH_CHARS)];
}

/** null: the text has another form, or is damaged. */
export function readRecord(text: string): EvidenceRecord | null {
  const parts = RECORD.exec(text);
  if (parts === null) return null;
  const [, factsId = "", findingId = "", time = "", ttl = "", latency = "", reply] = parts;
  const storedAt = Number.parseInt(time, TIME_BASE);
  const ttlS = numberOf(ttl);
  const latencyMs = numberOf(latency);
  if (!(ttlS >= 0 && storedAt + ttlS * 1_000 <= LAST_MS) || !Number.isFinite(latencyMs)) return null;
  const ownReply = reply === undefined ? null : parseText(reply);
  return ownReply === undefined ? null : { factsId, findingId, storedAt, ttlS, latencyMs, ownReply };
}

function parseText(json: string): string | undefined {
  try {
    const text: unknown = JSON.parse(json);
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}
