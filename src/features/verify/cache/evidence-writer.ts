import { LIMITS } from "../../../config/limits/limits.ts";
import type { DomainFacts, MailboxFinding } from "../../../verification/evidence/model.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { partKeyOf, RECORD_CHARS, recordText } from "./evidence-record.ts";

/** Characters of a key: `rcpt:ev:p:` and 128 bits. */
const KEY_CHARS = 32;
const PACKED_CHARS = KEY_CHARS + RECORD_CHARS;

/**
 * Writes entries with a few arguments, in any number: a SET or an argument for each costs this process several times as
 * much. The first argument has facts and findings, the second entries of any length. A line of each is key, seconds to
 * live, text; no text contains a line end. Further arguments are pairs: seconds to live, and entries of RECORD_CHARS with
 * these. They are cut by position, since a pattern costs Redis as much as the SET. The time to live of facts and findings
 * is never shortened: other processes' entries may need them.
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
    call('SET', sub(packed, from, text - 1), sub(packed, text, text + ${RECORD_CHARS - 1}), 'EX', ttl)
  end
end
`;

export interface KeyedEntry {
  redisKey: string;
  entry: CacheEntry;
}

/** Facts or a finding that were sent. Monotonic milliseconds. */
interface Sent {
  /** Until then Redis has it, unless it was short of memory. */
  untilMs: number;
  atMs: number;
}

/**
 * Sends facts and findings with the first entry that needs them. They live long enough for the entries of the next
 * LIMITS.evidenceCache.partRefreshS. After that they are sent again with the next entry, which limits how long a text that
 * Redis lost or dropped is missing.
 */
export class EntryWriter {
  #sent = new WeakMap<DomainFacts | MailboxFinding, Sent>();

  /** Forgets what was sent, since it may not have arrived. */
  forget(): void {
    this.#sent = new WeakMap();
  }

  /**
   * The arguments of KEEP.
   * @param nowMs monotonic
   */
  argumentsOf(entries: readonly KeyedEntry[], nowMs: number): string[] {
    let parts = "";
    let lines = "";
    const packed = new Map<number, string>();
    for (const { redisKey, entry } of entries) {
      const text = recordText(entry);
      if (text === null) continue;
      const lifeS = Math.floor(entry.ttlS);
      const { facts, finding } = entry.evidence;
      parts += this.#partLine(facts, lifeS, nowMs) + this.#partLine(finding, lifeS, nowMs);
      if (text.length > RECORD_CHARS || redisKey.length !== KEY_CHARS)
        lines += `${redisKey} ${lifeS} ${text}\n`;
      else packed.set(lifeS, (packed.get(lifeS) ?? "") + redisKey + text);
    }
    const all: string[] = [parts, lines];
    for (const [lifeS, texts] of packed) all.push(String(lifeS), texts);
    return all;
  }

  /** "": Redis has it for as long. */
  #partLine(part: DomainFacts | MailboxFinding, lifeS: number, nowMs: number): string {
    const { partRefreshS } = LIMITS.evidenceCache;
    const sent = this.#sent.get(part);
    const isThere =
      sent !== undefined &&
      sent.untilMs >= nowMs + lifeS * 1_000 &&
      sent.atMs >= nowMs - partRefreshS * 1_000;
    if (isThere) return "";
    const partS = lifeS + partRefreshS;
    this.#sent.set(part, { untilMs: nowMs + partS * 1_000, atMs: nowMs });
    return `${partKeyOf(part.id)} ${partS} ${part.text}\n`;
  }
}
