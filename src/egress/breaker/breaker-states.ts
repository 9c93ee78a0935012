import { createHash, randomBytes } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { RedisClients } from "../../stores/redis.ts";
import type { BreakerScope } from "./scope.ts";
import type { BreakerStore, LocalBreakerState, OpenBreakerState, TrialSettlement } from "./store.ts";

/**
 * Open circuit breakers of an egress in Redis, by Redis's clock.
 *
 * `rcpt:breaker:{<egress>}:<hash>` is a hash of one open breaker: `level`, `since` and `due` (the next trial), and during a
 * trial `trial` (its owner) and `ends` (its timeout); times are epoch milliseconds. It is deleted when the breaker closes,
 * or when no probe wanted the route for LIMITS.breaker.forgetMs. Having a TTL, it may be evicted earlier; the next trial
 * then writes it again. Its name ends in a hash like that of slots: a site may be a recipient's domain.
 * `rcpt:breaker:<egress>` is the channel of the egress's processes: sender, route, and its state, null when closed.
 *
 * One script handles every report, so that a breaker has one trial at a time and no report overtakes its end.
 */
const SCRIPT = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local op, me, channel, way, forget = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local token, ttl = ARGV[6], tonumber(ARGV[7])
local mine = {level = tonumber(ARGV[8]), since = now - tonumber(ARGV[9]), due = now + tonumber(ARGV[10]), trial = '', ends = 0}
local key = KEYS[1]

local function read()
  local f = redis.call('HMGET', key, 'level', 'since', 'due', 'trial', 'ends')
  if not f[1] then return nil end
  local s = {level = tonumber(f[1]), since = tonumber(f[2]), due = tonumber(f[3]), trial = f[4], ends = tonumber(f[5])}
  if s.ends <= now then s.trial = '' end
  return s
end

local function write(s)
  redis.call('HSET', key, 'level', s.level, 'since', string.format('%d', s.since), 'due', string.format('%d', s.due),
    'trial', s.trial, 'ends', string.format('%d', s.ends))
  redis.call('PEXPIRE', key, math.max(s.due, s.ends, now) - now + forget)
end

local function flat(s)
  local trial = 0
  if s.trial ~= '' then trial = 1 end
  return {s.level, now - s.since, s.due - now, trial}
end

local function say(s)
  local state = 'null'
  if s then
    local f = flat(s)
    state = string.format('[%d,%d,%d,%d]', f[1], f[2], f[3], f[4])
  end
  redis.call('PUBLISH', channel, '{"from":"' .. me .. '","way":' .. way .. ',"state":' .. state .. '}')
end

local s = read()
if op == 'look' then
  if s then return flat(s) end
  return {}
elseif op == 'open' then
  if s then return {0, unpack(flat(s))} end
  write(mine)
  say(mine)
  return {1, unpack(flat(mine))}
elseif op == 'take' then
  local known = s ~= nil
  if not known then s = mine end
  local granted = 0
  if s.trial == '' and s.due <= now then
    granted, s.trial, s.ends = 1, token, now + ttl
  end
  if granted == 1 or not known then write(s) end
  return {granted, unpack(flat(s))}
elseif op == 'closed' then
  redis.call('DEL', key)
  say(nil)
elseif s and s.trial ~= '' and s.trial ~= token then
  return {}
elseif op == 'open again' then
  if s then mine.since = s.since end
  write(mine)
  say(mine)
elseif op == 'returned' and s and s.trial == token then
  s.trial, s.ends = '', 0
  write(s)
  say(s)
end
return {}
`;

type Operation = "look" | "open" | "take" | "closed" | "open again" | "returned";
type Numbers = [level: number, openForMs: number, dueInMs: number, trial: number];

const CLOSED_STATE: LocalBreakerState = { level: 0, openForMs: 0, dueInMs: 0 };

function toOpenState([level, openForMs, dueInMs, trial]: Numbers): OpenBreakerState {
  return { level, openForMs, dueInMs, trial: trial === 1 };
}

function isNumbers(value: unknown): value is Numbers {
  return Array.isArray(value) && value.length === 4 && value.every((item) => Number.isSafeInteger(item));
}

function isWay(value: unknown): value is BreakerScope {
  if (typeof value !== "object" || value === null) return false;
  const { site, path, domain, provider } = value as Record<string, unknown>;
  if (typeof site !== "string" || typeof path !== "string" || typeof domain !== "string") return false;
  return provider === null || typeof provider === "string";
}

interface BreakerMessage {
  from: string;
  way: BreakerScope;
  state: OpenBreakerState | null;
}

function parse(message: string): BreakerMessage | null {
  try {
    const { from, way, state } = JSON.parse(message) as Record<string, unknown>;
    if (typeof from !== "string" || !isWay(way)) return null;
    if (state !== null && !isNumbers(state)) return null;
    return { from, way, state: state === null ? null : toOpenState(state) };
  } catch {
    return null;
  }
}

/** The script as a command. */
function defineScript(commands: RedisClients["commands"], egressId: string, self: string, channel: string) {
  commands.defineCommand("rcptBreaker", { lua: SCRIPT });
  const { rcptBreaker } = commands as typeof commands & {
    rcptBreaker(keys: number, ...args: (string | number)[]): Promise<number[]>;
  };
  return (
    operation: Operation,
    { site, path, domain, provider }: BreakerScope,
    token: string,
    { level, openForMs, dueInMs }: LocalBreakerState,
  ): Promise<number[]> => {
    const { forgetMs, trialTtlMs } = LIMITS.breaker;
    const hash = createHash("sha256")
      .update(`${site} ${path} ${domain}`)
      .digest()
      .subarray(0, 16)
      .toString("base64url");
    return rcptBreaker.call(
      commands,
      1,
      `rcpt:breaker:{${egressId}}:${hash}`,
      ...[operation, self, channel, JSON.stringify({ site, path, domain, provider })],
      ...[forgetMs, token, trialTtlMs],
      ...[level, Math.max(0, Math.round(openForMs)), Math.round(dueInMs)],
    );
  };
}

/** @param egressId of `EGRESS_ID`; each call acts as a process of its own */
export function createBreakerStore(redis: RedisClients, egressId: string, log: Logger): BreakerStore {
  const { commands, subscriber } = redis;
  const self = randomBytes(9).toString("base64url");
  const channel = `rcpt:breaker:${egressId}`;
  const run = defineScript(commands, egressId, self, channel);

  async function answerOf(
    operation: "open" | "take",
    way: BreakerScope,
    token: string,
    mine: LocalBreakerState,
  ) {
    const [yes, ...numbers] = await run(operation, way, token, mine);
    return { yes: yes === 1, state: toOpenState(numbers as Numbers) };
  }

  async function subscribe(): Promise<void> {
    try {
      await subscriber.subscribe(channel);
    } catch (error) {
      log.debug({ err: error }, "cannot subscribe to the breaker channel");
      // Without a subscription the connection is useless: a new one subscribes when it is ready.
      if (subscriber.status === "ready") subscriber.disconnect(true);
    }
  }

  return {
    async open(way, mine) {
      const { yes, state } = await answerOf("open", way, "", mine);
      return { first: yes, state };
    },
    async read(way) {
      const numbers = await run("look", way, "", CLOSED_STATE);
      return numbers.length === 0 ? null : toOpenState(numbers as Numbers);
    },
    async takeTrial(way, token, mine) {
      const { yes, state } = await answerOf("take", way, token, mine);
      return { granted: yes, state };
    },
    async settleTrial(way, token, settlement: TrialSettlement) {
      if (settlement.kind === "open") await run("open again", way, token, settlement);
      else await run(settlement.kind, way, token, CLOSED_STATE);
    },
    listen(changed) {
      subscriber.on("ready", () => void subscribe());
      subscriber.on("message", (from: string, message: string) => {
        if (from !== channel) return;
        const said = parse(message);
        if (said === null) log.warn({ channel }, "ignoring a malformed message on the breaker channel");
        else if (said.from !== self) changed(said.way, said.state);
      });
      if (subscriber.status === "ready") void subscribe();
    },
  };
}
