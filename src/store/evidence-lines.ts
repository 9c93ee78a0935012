import { LIMITS } from "../core/limits.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { SHORT_CHARS, shapeKeyOf, shapeText, shortText } from "./evidence-shapes.ts";
import { type EvidenceShape, entryText, hash128, shapeOf } from "./evidence-text.ts";

/** Of `rcpt:ev:p:` and 128 bits. */
const KEY_CHARS = 32;
const PACKED_CHARS = KEY_CHARS + SHORT_CHARS;

/**
 * Entries on their way to Redis, in a few arguments however many: a SET of its own, or an argument of its own, costs this
 * process several times as much.
 *
 * The first argument is shapes, the second entries of any length; a line of each is key, seconds that Redis keeps it, text, and JSON has
 * no line end in it. Then, by twos, seconds and short entries which are kept so long: key and text, PACKED_CHARS of each, cut by
 * their places, since a pattern costs Redis as much as the SET. A shape is kept no shorter than it was: other processes' entries may need it.
 */
export const KEEP = `
local call, sub = redis.call, string.sub
for key, ttl, text in string.gmatch(ARGV[1], '(%S+) (%d+) ([^\\n]*)\\n') do
  local left = call('TTL', key)
  if left > tonumber(ttl) then ttl = left end
  call('SET', key, text, 'EX', ttl)
end
for key, ttl, text in string.gmatch(ARGV[2], '(%S+) (%d+) ([^\\n]*)\\n') do
  call('SET', key, text, 'EX', ttl)
end
for at = 3, #ARGV, 2 do
  local ttl, packed = ARGV[at], ARGV[at + 1]
  for from = 1, #packed, ${PACKED_CHARS} do
    local text = from + ${KEY_CHARS}
    call('SET', sub(packed, from, text - 1), sub(packed, text, text + ${SHORT_CHARS - 1}), 'EX', ttl)
  end
end
`;

export interface KeyedEntry {
  redisKey: string;
  entry: CacheEntry;
}

/** A shape that was met before. */
interface MetShape {
  /** "" until it is met again. */
  id: string;
  /** Monotonic: until then Redis has it, unless it was short of memory; and when it was sent. */
  untilMs: number;
  sentMs: number;
}

/**
 * Writes entries short where their shape was met before, else whole: of a domain with one address nobody else has it, and by
 * itself it would only be a second key. A shape is sent with the first entry that needs it, for
 * so long that those of the next LIMITS.evidenceCache.shapeAgainS need it no longer than it lives; then again, with whatever
 * entry, so that what Redis lost or dropped is missed for no longer.
 */
export class EntryWriter {
  #met = new WeakMap<EvidenceShape, MetShape>();

  /** What was sent may not have arrived. */
  forget(): void {
    this.#met = new WeakMap();
  }

  /**
   * The arguments of KEEP.
   * @param nowMs monotonic
   */
  argumentsOf(entries: readonly KeyedEntry[], nowMs: number): string[] {
    let shapes = "";
    let lines = "";
    const short = new Map<number, string>();
    for (const { redisKey, entry } of entries) {
      const lifeS = Math.floor(entry.ttlS);
      const shape = shapeOf(entry.evidence);
      const met = this.#meet(shape);
      const text = met === null || redisKey.length !== KEY_CHARS ? null : shortText(met.id, shape, entry);
      if (met === null || text === null) {
        lines += `${redisKey} ${lifeS} ${entryText(entry, shape)}\n`;
        continue;
      }
      const { shapeAgainS } = LIMITS.evidenceCache;
      if (met.untilMs < nowMs + lifeS * 1_000 || met.sentMs < nowMs - shapeAgainS * 1_000) {
        const shapeS = lifeS + shapeAgainS;
        met.sentMs = nowMs;
        met.untilMs = nowMs + shapeS * 1_000;
        shapes += `${shapeKeyOf(met.id)} ${shapeS} ${shapeText(shape)}\n`;
      }
      if (text.length > SHORT_CHARS) lines += `${redisKey} ${lifeS} ${text}\n`;
      else short.set(lifeS, (short.get(lifeS) ?? "") + redisKey + text);
    }
    const packed: string[] = [shapes, lines];
    for (const [lifeS, texts] of short) packed.push(String(lifeS), texts);
    return packed;
  }

  /** null: for the first time. */
  #meet(shape: EvidenceShape): MetShape | null {
    const met = this.#met.get(shape);
    if (met === undefined) {
      this.#met.set(shape, { id: "", untilMs: Number.NEGATIVE_INFINITY, sentMs: Number.NEGATIVE_INFINITY });
      return null;
    }
    if (met.id === "") met.id = hash128(shapeText(shape));
    return met;
  }
}
