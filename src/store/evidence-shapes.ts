import { LRUCache } from "lru-cache";
import type { Evidence } from "../check/evidence.ts";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { areTimes, isEvidence } from "./evidence-parts.ts";
import {
  answeredSo,
  decodeEntry,
  type EvidenceShape,
  hash128,
  makeShape,
  saysThat,
  textOf,
} from "./evidence-text.ts";
import type { RedisClient } from "./redis.ts";

/**
 * Short entries: of addresses that are answered alike Redis has what they have in common once, `rcpt:es:<id>`, and of each
 * only what is its own. 44 characters instead of some 550: with its key and all that Redis keeps of one 180 to 210 bytes instead of
 * 790, and as much less in its append-only file. Where a reply has an id of its own in it, as large providers' have, it stands
 * behind them, as JSON.
 *
 * A shape's id is that of its text, so nothing else can stand there; one that is gone, or damaged, makes misses of its
 * entries. It outlasts them, see `EntryWriter`.
 */

/** The longest text that Redis keeps in one piece with its header. All are filled up to it, so that the script need not look for ends. */
export const SHORT_CHARS = 44;
const ID_CHARS = 22;
/** Milliseconds in base 36: until 2059. */
const TIME_CHARS = 8;
const REST_AT = ID_CHARS + TIME_CHARS;
const REST = /^(\d+) (\d*) *$/;
const REPLY = /^"[^\n]*"$/;

/** Evidence as text, whole; the latency is each entry's own, and 0 here; so may the reply be. */
export function shapeText({ start, end }: EvidenceShape): string {
  return end === "" ? start : `${start}0${end}`;
}

export const shapeKeyOf = (id: string): string => `rcpt:es:${id}`;

/** Digits and nothing else, as they are written. */
const isPlain = (value: number) => Number.isSafeInteger(value) && value >= 0;

/** Rows that were learnt together have it in common, and to write it is as much as all the rest. */
let lastTime = { storedAt: Number.NaN, text: "" };

/** "": it cannot be in a short entry. */
function timeText(storedAt: number): string {
  if (lastTime.storedAt !== storedAt) {
    const text = isPlain(storedAt) ? storedAt.toString(36) : "";
    lastTime = { storedAt, text: text.length === TIME_CHARS ? text : "" };
  }
  return lastTime.text;
}

/** @returns SHORT_CHARS characters, and more where the reply is not the shape's; null: it does not fit */
export function shortText(
  id: string,
  shape: EvidenceShape,
  { evidence, storedAt, ttlS }: CacheEntry,
): string | null {
  const latencyMs = evidence.smtp === null ? null : evidence.smtp.latencyMs;
  const time = timeText(storedAt);
  if (time === "" || !isPlain(ttlS) || !(latencyMs === null || isPlain(latencyMs))) return null;
  const text = `${id}${time}${ttlS} ${latencyMs ?? ""}`;
  if (text.length > SHORT_CHARS) return null;
  const filled = text.padEnd(SHORT_CHARS);
  return saysThat(shape, evidence) ? filled : filled + textOf(evidence.smtp?.reply ?? null);
}

interface ShortEntry {
  id: string;
  storedAt: number;
  ttlS: number;
  latencyMs: number | null;
  /** undefined: the shape's. */
  reply: string | undefined;
}

/** @throws SyntaxError */
function readShort(text: string): ShortEntry | null {
  const rest = REST.exec(text.slice(REST_AT, SHORT_CHARS));
  const said = text.slice(SHORT_CHARS);
  if (rest === null || !(said === "" || REPLY.test(said))) return null;
  const [, ttlS, latency] = rest;
  const storedAt = Number.parseInt(text.slice(ID_CHARS, REST_AT), 36);
  const times = { storedAt, ttlS: Number(ttlS) };
  if (!areTimes(times)) return null;
  return {
    id: text.slice(0, ID_CHARS),
    storedAt,
    ttlS: times.ttlS,
    latencyMs: latency === "" ? null : Number(latency),
    reply: said === "" ? undefined : (JSON.parse(said) as string),
  };
}

function isShort(text: string | null): text is string {
  return text !== null && text.length >= SHORT_CHARS && !text.startsWith("{");
}

/** A shape as this process knows it. */
interface KnownShape {
  evidence: Evidence;
  /** Monotonic: when Redis last heard that it is used. */
  toldMs: number;
}

/** Reads entries, short ones and whole ones. */
export class EntryReader {
  readonly #redis: RedisClient;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #writes: boolean;
  readonly #shapes = new LRUCache<string, KnownShape>({ max: LIMITS.evidenceCache.shapes });
  /** Of those that were looked for last, such as are not in Redis. */
  #gone: ReadonlySet<string> = new Set();

  /** @param options writes: it may tell Redis what is in use, and put back what is gone */
  constructor(redis: RedisClient, clock: Pick<Clock, "monotonic">, { writes = true } = {}) {
    this.#redis = redis;
    this.#clock = clock;
    this.#writes = writes;
  }

  /**
   * Fetches those shapes of entries that this process does not know; to be awaited before they are decoded. Rejects when
   * Redis does not answer: then they stay unknown.
   * @returns null: all are known
   */
  learn(texts: readonly (string | null)[]): Promise<void> | null {
    const lacking = new Set<string>();
    const used: string[] = [];
    const nowMs = this.#clock.monotonic();
    for (const text of texts) {
      if (!isShort(text)) continue;
      const id = text.slice(0, ID_CHARS);
      const known = this.#shapes.get(id);
      if (known === undefined) lacking.add(id);
      else if (this.#writes && nowMs - known.toldMs >= LIMITS.evidenceCache.shapeToldMs) {
        known.toldMs = nowMs;
        used.push(id);
      }
    }
    if (used.length > 0) this.#tell(used).catch(ignore);
    this.#gone = new Set();
    return lacking.size === 0 ? null : this.#fetch([...lacking]);
  }

  /** undefined: nobody can read it, or its shape is not known. */
  decode(text: string): CacheEntry | undefined {
    if (!isShort(text)) return decodeEntry(text);
    try {
      const short = readShort(text);
      const shape = short === null ? undefined : this.#shapes.get(short.id);
      if (short === null || shape === undefined) return undefined;
      const { latencyMs, storedAt, ttlS, reply } = short;
      const isAsked = shape.evidence.smtp !== null;
      if ((latencyMs !== null) !== isAsked || (reply !== undefined && !isAsked)) return undefined;
      return { evidence: answeredSo(shape.evidence, latencyMs, reply), storedAt, ttlS };
    } catch {
      return undefined;
    }
  }

  /**
   * Else Redis, short of memory, would take them for such as nobody uses, since they are read so seldom. Who knows them puts
   * back those that are gone: nobody who lacks them can.
   */
  async #tell(ids: readonly string[]): Promise<void> {
    if ((await this.#redis.touch(ids.map(shapeKeyOf))) === ids.length) return;
    const there = await Promise.all(ids.map((id) => this.#redis.exists(shapeKeyOf(id))));
    await Promise.all(ids.filter((_, i) => there[i] === 0).map((id) => this.#putBack(id)));
  }

  async #putBack(id: string): Promise<void> {
    const known = this.#shapes.get(id);
    const text = known === undefined ? "" : shapeText(makeShape(known.evidence));
    // What was put together anew might differ, and be nobody's.
    if (hash128(text) !== id) return;
    await this.#redis.set(shapeKeyOf(id), text, "EX", LIMITS.evidenceCache.shapeBackS, "NX");
  }

  /** Whether it is an entry whose shape `learn` has not found in Redis just now. */
  lacks(text: string): boolean {
    return isShort(text) && this.#gone.has(text.slice(0, ID_CHARS));
  }

  async #fetch(ids: readonly string[]): Promise<void> {
    const texts: (string | null)[] = await this.#redis.mget(ids.map(shapeKeyOf));
    const toldMs = this.#clock.monotonic();
    this.#gone = new Set(ids.filter((_, i) => (texts[i] ?? null) === null));
    for (const [i, id] of ids.entries()) {
      const evidence = readShape(id, texts[i] ?? null);
      if (evidence !== null) this.#shapes.set(id, { evidence, toldMs });
    }
  }
}

/** null: it is none, or another's. */
function readShape(id: string, text: string | null): Evidence | null {
  if (text === null || hash128(text) !== id) return null;
  try {
    const evidence: unknown = JSON.parse(text);
    return isEvidence(evidence) ? evidence : null;
  } catch {
    return null;
  }
}

function ignore(): void {}
