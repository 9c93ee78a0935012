import { createHash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { LIMITS } from "../config/limits/limits.ts";
import type { Logger } from "../platform/log.ts";
import type { RedisClients } from "../stores/redis.ts";
import type { SlotAnswer, SlotLeases, SlotListener, SlotStatement } from "./slot-leases.ts";

/**
 * Connection slots of an egress in Redis, by Redis's clock.
 *
 * `rcpt:slots:{<egress>}:<hash>` is a hash of one site: `h<process>` = `<slots held>:<end of the lease>`, `w<process>` =
 * `<arrival in the queue, µs>:<end>`. Ends are epoch milliseconds. The next call removes expired fields, and the key is
 * deleted with the last lease. It has a TTL, so `volatile-lru` may evict it: the next renewals write it again. Its name ends
 * in the site's SHA-256, cut to 128 bits: a site may be a recipient's domain, which Redis must not hold in clear text.
 * `rcpt:slots:<egress>` is the channel of the egress's processes; a message is a `SlotMessage` as JSON.
 *
 * One script handles every report, so that a process's reports on a site are never executed out of order. It takes the
 * report as the truth, and grants slots that holders and earlier waiters leave, one at a time while others wait. It notifies
 * the others: `freed` when new room appears and a process waits, `wanted` when this one has to wait.
 */
const STATE = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local arrival = string.format('%s%06d', clock[1], clock[2])
local me, leaseTtl, lineTtl, channel = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local function read(key)
  local held, line, expired = {}, {}, false
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local process = fields[i]:sub(2)
    local value, ends = fields[i + 1]:match('^(%d+):(%d+)$')
    if tonumber(ends) <= now then
      redis.call('HDEL', key, fields[i])
      expired = true
    elseif fields[i]:sub(1, 1) == 'h' then held[process] = tonumber(value)
    else line[process] = value end
  end
  return held, line, expired
end

local function say(kind, site, holds)
  redis.call('PUBLISH', channel, cjson.encode({kind = kind, site = site, from = me, holds = holds}))
end

local function state(key, site, mine, want, max, waiting, announce)
  local held, line, expired = read(key)
  local before, since = held[me] or 0, line[me]
  held[me], line[me] = nil, nil
  local out, ahead = 0, 0
  for _, count in pairs(held) do out = out + count end
  for process, at in pairs(line) do
    if not since or at < since or (at == since and process < me) then ahead = ahead + 1 end
  end
  local others = next(line) ~= nil
  local share = want
  if others then share = math.min(want, 1) end
  local granted = math.max(0, math.min(share, max - out - mine - ahead))
  mine = mine + granted
  local waits = waiting and granted < want

  if mine > 0 then redis.call('HSET', key, 'h' .. me, string.format('%d:%d', mine, now + leaseTtl))
  else redis.call('HDEL', key, 'h' .. me) end
  if waits then
    if granted > 0 or not since then since = arrival end
    redis.call('HSET', key, 'w' .. me, string.format('%s:%d', since, now + lineTtl))
  else redis.call('HDEL', key, 'w' .. me) end
  redis.call('PEXPIRE', key, math.max(leaseTtl, lineTtl))

  local total = out + mine
  local left = since and not waits and granted == 0
  if others and total < max and (mine < before or expired or left) then say('freed', site, mine) end
  if waits and announce and out > 0 then say('wanted', site, mine) end
  local excess = 0
  if total > max and mine > 0 then excess = math.min(mine, math.ceil((total - max) * mine / total)) end
  return {granted, excess}
end

local answers = {}
for i, key in ipairs(KEYS) do
  local at = 4 + (i - 1) * 6
  answers[i] = state(key, ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]),
    ARGV[at + 5] == '1', ARGV[at + 6] == '1')
end
return answers
`;

interface SlotMessage {
  kind: "wanted" | "freed";
  site: string;
  /** The sending process. */
  from: string;
  /** Slots of the site that it holds. */
  holds: number;
}

function parse(message: string): SlotMessage | null {
  try {
    const { kind, site, from, holds } = JSON.parse(message) as Record<string, unknown>;
    if ((kind !== "wanted" && kind !== "freed") || typeof site !== "string") return null;
    if (typeof from !== "string" || typeof holds !== "number") return null;
    return { kind, site, from, holds };
  } catch {
    return null;
  }
}

function slotsKey(egressId: string, site: string): string {
  const hash = createHash("sha256").update(site).digest().subarray(0, 16).toString("base64url");
  return `rcpt:slots:{${egressId}}:${hash}`;
}

/** @param egressId of `EGRESS_ID`; each call acts as a process of its own */
export function createSlotLeases(redis: RedisClients, egressId: string, log: Logger): SlotLeases {
  const { commands, subscriber } = redis;
  const self = randomBytes(9).toString("base64url");
  const channel = `rcpt:slots:${egressId}`;
  commands.defineCommand("rcptStateSlots", { lua: STATE });
  const { rcptStateSlots } = commands as typeof commands & {
    rcptStateSlots(keys: number, ...args: (string | number)[]): Promise<[number, number][]>;
  };

  /** A process in use of a site reports it twice a second. */
  const keys = new LRUCache<string, string>({ max: LIMITS.slots.keysKept });
  function keyOf(site: string): string {
    const known = keys.get(site);
    if (known !== undefined) return known;
    const key = slotsKey(egressId, site);
    keys.set(site, key);
    return key;
  }

  async function state(statements: readonly SlotStatement[]): Promise<SlotAnswer[]> {
    const { leaseTtlMs, queueTtlMs: lineTtlMs } = LIMITS.slots;
    const answers = await rcptStateSlots.call(
      commands,
      statements.length,
      ...statements.map(({ site }) => keyOf(site)),
      ...[self, leaseTtlMs, lineTtlMs, channel],
      ...statements.flatMap(({ site, held, want, max, waiting, announce }) => [
        ...[site, held, want, max],
        ...[Number(waiting), Number(announce)],
      ]),
    );
    return answers.map(([granted, excess]) => ({ granted, excess }));
  }

  async function subscribe(): Promise<void> {
    try {
      await subscriber.subscribe(channel);
    } catch (error) {
      log.debug({ err: error }, "cannot subscribe to the slot channel");
      // Without a subscription the connection is useless: a new one subscribes when it is ready.
      if (subscriber.status === "ready") subscriber.disconnect(true);
    }
  }

  function hear(message: string, listener: SlotListener): void {
    const said = parse(message);
    if (said === null) log.warn({ channel }, "ignoring a malformed message on the slot channel");
    else if (said.from === self) return;
    else if (said.kind === "wanted") listener.onWanted(said.site, said.holds);
    else listener.onFreed(said.site);
  }

  return {
    report: state,
    listen(listener) {
      subscriber.on("ready", () => void subscribe());
      subscriber.on("message", (from: string, message: string) => {
        if (from === channel) hear(message, listener);
      });
      if (subscriber.status === "ready") void subscribe();
    },
  };
}
