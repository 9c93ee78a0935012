import type { CacheEntry } from "./cache-entry.ts";
import { type EvidenceShape, latencyText, shapeOf } from "./evidence-text.ts";

/**
 * Entries on their way to Redis, as one argument however many: a SET of its own, or an argument of its own, costs this process
 * several times as much. What evidence of a domain has in common goes once, as a line of its own: 550 bytes a row became
 * 70, and Redis puts together there what `encodeEntry` would write here.
 *
 * Lines of shapes begin with a brace: what stands before the latency, a tab, what stands behind it. Lines of entries: key, seconds
 * that Redis keeps it, number of the shape in the order of their lines, latency, and the two times of the entry. Spaces and
 * tabs part them; in JSON both are escaped or within a shape.
 */
export const KEEP = `
local starts, ends = {}, {}
for line in string.gmatch(ARGV[1], '[^\\n]+') do
  if string.byte(line) == 123 then
    local head, tail = string.match(line, '^([^\\t]*)\\t(.*)$')
    starts[#starts + 1] = head
    ends[#ends + 1] = tail
  else
    local key, ttl, shape, latency, stored, life = string.match(line, '^(%S+) (%d+) (%d+) (%S*) (%S+) (%S+)$')
    if key then
      local at = tonumber(shape)
      local entry = '{"evidence":' .. starts[at] .. latency .. ends[at] .. ',"storedAt":' .. stored .. ',"ttlS":' .. life .. '}'
      redis.call('SET', key, entry, 'EX', ttl)
    end
  end
end
`;

export interface KeyedEntry {
  redisKey: string;
  entry: CacheEntry;
}

/** The argument of KEEP. */
export function entryLines(entries: readonly KeyedEntry[]): string {
  const numbers = new Map<EvidenceShape, number>();
  let shapes = "";
  let lines = "";
  for (const { redisKey, entry } of entries) {
    const { evidence, storedAt, ttlS } = entry;
    const shape = shapeOf(evidence);
    let number = numbers.get(shape);
    if (number === undefined) {
      number = numbers.size + 1;
      numbers.set(shape, number);
      shapes += `${shape.start}\t${shape.end}\n`;
    }
    lines += `${redisKey} ${Math.floor(ttlS)} ${number} ${latencyText(evidence, shape)} ${storedAt} ${ttlS}\n`;
  }
  return shapes + lines;
}
