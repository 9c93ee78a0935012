import type { Config } from "../../config/config.ts";
import { createLog } from "../../platform/log.ts";
import { createRedis, type RedisClients } from "../../stores/redis.ts";
import { UNUSABLE_REDIS, unusableMode } from "../../stores/redis-mode.ts";
import {
  bytesText,
  type DoctorFinding,
  type DoctorGroup,
  type DoctorSubject,
  type Examination,
  errorLine,
  fail,
  ok,
  percent,
  skipped,
  warn,
} from "./finding.ts";
import { judgeLatency, judgeSkew } from "./judge-distance.ts";
import { lookAtRedis, type RedisFacts, type StreamFacts } from "./redis-facts.ts";

const VERSION_MIN = 7;
const COMMAND_MS = 10_000;
const POLICY = "volatile-lru";

/** Faults of Redis that prevent the service from working, or soon will. Pure. */
export function judgeRedis(facts: RedisFacts, config: Pick<Config, "objects">): DoctorFinding[] {
  return [
    ...judgeServer(facts),
    ...judgeTiming(facts),
    ...judgeState(facts),
    judgeRights(facts),
    ...judgeStreams(facts, config),
  ];
}

type Info = NonNullable<RedisFacts["info"]>;

function judgeServer({ info }: RedisFacts): DoctorFinding[] {
  return info === null ? [] : [judgeVersion(info), ...judgeMode(info)];
}

function judgeTiming({ timing }: RedisFacts): DoctorFinding[] {
  if (timing === null) return [skipped("distance", "TIME is refused.")];
  return [judgeLatency("distance", timing.latencyMs), judgeSkew("clock", "Redis", timing.skewMs)];
}

function judgeState({ info }: RedisFacts): DoctorFinding[] {
  if (info !== null) return [judgePolicy(info), judgeMemory(info), judgePersistence(info)];
  return [
    skipped(
      "server",
      `INFO is refused: version, mode, eviction (it should be ${POLICY}), memory and persistence are not known. See the provider's settings.`,
    ),
  ];
}

const numberOf = (info: Info, name: string) => Number(info.get(name) ?? 0);

function judgeVersion(info: Info): DoctorFinding {
  const valkey = info.get("valkey_version");
  const version = valkey ?? info.get("redis_version") ?? "0";
  const text = `${valkey === undefined ? "Redis" : "Valkey"} ${version}.`;
  return Number.parseInt(version, 10) >= VERSION_MIN
    ? ok("version", text)
    : fail(
        "version",
        text,
        "Run Redis 7 or newer, or Valkey 8: streams are read in ways that older ones do not know.",
      );
}

function judgeMode(info: Info): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const mode = unusableMode(info);
  if (mode !== null) found.push(fail("mode", UNUSABLE_REDIS[mode].text, UNUSABLE_REDIS[mode].advice));
  if (info.get("role") === "slave")
    found.push(
      fail("mode", "REDIS_URL leads to a replica, which takes no writes.", "Let it lead to the primary."),
    );
  return found.length > 0 ? found : [ok("mode", "One server that takes writes.")];
}

function judgePolicy(info: Info): DoctorFinding {
  const check = "eviction";
  const policy = info.get("maxmemory_policy") ?? "unknown";
  const advice = `Set maxmemory-policy ${POLICY}.`;
  if (policy === POLICY) return ok(check, `maxmemory-policy is ${policy}.`);
  if (policy === "noeviction")
    return fail(
      check,
      "maxmemory-policy is noeviction: once memory is full every write is refused, rates, caps and streams included.",
      advice,
    );
  if (policy.startsWith("allkeys"))
    return fail(
      check,
      `maxmemory-policy is ${policy}: streams of tasks may be evicted like the cache, and are put together anew each time.`,
      advice,
    );
  return warn(check, `maxmemory-policy is ${policy}: what is used often may go first.`, advice);
}

function judgeMemory(info: Info): DoctorFinding {
  const check = "memory";
  const most = numberOf(info, "maxmemory");
  const used = numberOf(info, "used_memory");
  const evicted = numberOf(info, "evicted_keys");
  if (most === 0)
    return warn(
      check,
      `maxmemory is not set, and the cache only grows: ${bytesText(used)} now.`,
      "Set maxmemory to what the machine can spare, e.g. 75 % of its memory.",
    );
  const seen = `${bytesText(used)} of ${bytesText(most)} (${percent(used, most)}) are in use; ${evicted} entries were evicted.`;
  // A full cache is a used cache. Data that may not be evicted fits many times into the rest.
  return ok(check, evicted === 0 ? seen : `${seen} More memory would keep the cache longer.`);
}

function judgePersistence(info: Info): DoctorFinding {
  const check = "persistence";
  if (info.get("rdb_last_bgsave_status") === "err" || info.get("aof_last_write_status") === "err")
    return fail(
      check,
      "Its last write to disk failed: with stop-writes-on-bgsave-error it refuses all writes.",
      "See its log: mostly the disk is full, or the fork is refused (vm.overcommit_memory).",
    );
  if (info.get("aof_enabled") === "1")
    return ok(check, "It keeps what it has over a restart (append-only file).");
  return ok(
    check,
    "What it has may be lost with it: no row and no charge, but the cache, and some seconds of work on jobs.",
  );
}

function judgeRights({ refused }: RedisFacts): DoctorFinding {
  const check = "rights";
  if (refused.length === 0) return ok(check, "All commands that we use are allowed.");
  const commands = [...new Set(refused.map(({ command }) => command))].join(", ");
  return fail(
    check,
    `Refused: ${commands} (${refused[0]?.why}).`,
    "Grant them on keys and channels rcpt:* (ACL SETUSER … ~rcpt:* &rcpt:* +@all -@admin -@dangerous +info).",
  );
}

function judgeStreams(
  { streams, deadLetters }: RedisFacts,
  { objects }: Pick<Config, "objects">,
): DoctorFinding[] {
  if (objects === null) return [skipped("tasks", "There is no bulk verification here.")];
  if (streams === null || deadLetters === null)
    return [skipped("tasks", "Streams of tasks cannot be looked at: see what is said above.")];
  const found = streams.map(judgeStream);
  if (deadLetters === 0) found.push(ok("dead letters", "No task was given up."));
  else
    found.push(
      warn(
        "dead letters",
        `${deadLetters} tasks were given up; their rows were answered internal_error.`,
        "Look at XREVRANGE rcpt:{bulk}:dead + - COUNT 10 and at the log of the bulk processes (docs/runbook.md); DEL it when done.",
      ),
    );
  return found;
}

function judgeStream({ name, entries, lag, pending, consumers, stuck }: StreamFacts): DoctorFinding {
  const check = `stream ${name}`;
  if (entries === null) return ok(check, "Nothing is in it.");
  const seen = `${entries} tasks: ${pending} are worked on by ${consumers} consumers, ${lag ?? "an unknown number"} wait.`;
  if (stuck > 0)
    return warn(
      check,
      `${seen} ${stuck} are with consumers that have been silent for two minutes.`,
      "Start a bulk process: any takes over what others left.",
    );
  return ok(check, seen);
}

/**
 * The doctor's connections, closed at the end. `failure`: the reason why there is no connection, from the server or the
 * network.
 */
export async function openRedis(
  { config }: DoctorSubject,
  { atEnd }: Examination,
): Promise<{ redis: RedisClients; failure: string | null }> {
  const log = createLog("silent", { role: "operator" }, process.stderr);
  const redis = createRedis({
    url: config.redis.url,
    name: "rcpt-doctor",
    log,
    // A slow answer is something to tell of, not to break off at.
    commandTimeoutMs: COMMAND_MS,
  });
  let said: string | null = null;
  redis.commands.on("error", (error: Error) => {
    said ??= errorLine(error);
  });
  atEnd(() => redis.stop());
  await redis.start();
  try {
    await redis.ping();
    return { redis, failure: null };
  } catch (error) {
    return { redis, failure: said ?? errorLine(error) };
  }
}

/** True: REDIS_URL can be used. Else says why nothing is looked at. */
export function hasRedis({ diagnosis }: DoctorSubject, { note }: Examination): boolean {
  if (diagnosis.given.has("REDIS_URL")) return true;
  note(skipped("redis", "REDIS_URL is missing or wrong."));
  return false;
}

export const REDIS_GROUP: DoctorGroup = {
  name: "redis",
  title: "Redis",
  async examine(subject, examination) {
    if (!hasRedis(subject, examination)) return;
    const { redis, failure } = await openRedis(subject, examination);
    if (failure !== null) {
      const advice =
        "Check host, port, user and password in REDIS_URL, rediss:// for TLS, and that the server runs.";
      return examination.note(fail("connection", `Redis is unavailable (${failure}).`, advice));
    }
    const facts = await lookAtRedis(redis, subject.config.smtp.egressId, subject.clock);
    examination.note(...judgeRedis(facts, subject.config));
  },
};
