import { getServers } from "node:dns";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { availableParallelism, hostname } from "node:os";
import * as v from "valibot";
import { LOG_LEVELS } from "./log.ts";

/** A wrong setting. `message` is one line that names the variable; the process prints it and stops. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

const ROLES = ["api", "relay", "all"] as const;
export type Role = (typeof ROLES)[number];

const integer = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,12}$/, `must be a whole number from ${min} to ${max}`),
    v.transform(Number),
    v.minValue(min, `must be a whole number from ${min} to ${max}`),
    v.maxValue(max, `must be a whole number from ${min} to ${max}`),
  );

const flag = v.pipe(
  v.picklist(["true", "false", "1", "0"], "must be true or false"),
  v.transform((s) => s === "true" || s === "1"),
);

const url = (...protocols: string[]) =>
  v.pipe(
    v.string(),
    v.check(
      (s) => URL.canParse(s) && protocols.includes(new URL(s).protocol),
      `must be a URL starting with ${protocols.map((p) => `${p}//`).join(" or ")}`,
    ),
  );

const list = (item: (s: string) => boolean, message: string) =>
  v.pipe(
    v.string(),
    v.transform((s) =>
      s
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    ),
    v.minLength(1, message),
    v.maxLength(64, "at most 64 items"),
    v.check((items) => items.every(item), message),
  );

/** `ip`, `ip:port` or `[ip6]:port`. */
function isServerAddress(text: string): boolean {
  const match = /^(?:\[([^\]]+)\]|([0-9.]+))(?::(\d{1,5}))?$/.exec(text);
  if (!match) return isIP(text) !== 0;
  const port = match[3] === undefined ? 53 : Number(match[3]);
  return isIP(match[1] ?? match[2] ?? "") !== 0 && port > 0 && port < 65_536;
}

/** `ip` or `ip/prefix`. */
function isNetwork(text: string): boolean {
  const [ip = "", prefix] = text.split("/");
  const family = isIP(ip);
  if (family === 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

const domainName = v.pipe(
  v.string(),
  v.maxLength(253, "must be a host name"),
  v.regex(/^(?=.*[a-z])[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i, "must be a host name, e.g. probe.example.com"),
);

/** An ASCII dot-atom at a host name: what may stand in MAIL FROM of any server. */
const mailFrom = v.pipe(
  v.string(),
  v.maxLength(254, "must have at most 254 characters"),
  v.regex(
    /^$|^<>$|^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*$/,
    "must be an address, or <> for the null sender",
  ),
  v.transform((s) => (s === "<>" ? "" : s)),
);

/** `reason=seconds, ...`: how long evidence that leads to a reason is kept, where it differs from the table. */
const lifetimes = v.pipe(
  v.string(),
  v.transform((s) => s.split(",").map((part) => part.trim())),
  v.check(
    (items) => items.every((item) => /^[a-z_]{1,40}=\d{1,8}$/.test(item)),
    "must be a comma list of reason=seconds, e.g. greylisted=300,accepted_mailbox=86400",
  ),
  v.transform(
    (items) => new Map(items.map((item) => [item.split("=")[0] ?? "", Number(item.split("=")[1])])),
  ),
);

const SettingsSchema = v.object({
  ROLE: v.optional(v.picklist(ROLES, `must be one of ${ROLES.join(", ")}`), "all"),
  HOST: v.optional(
    v.pipe(
      v.string(),
      v.check((s) => isIP(s) !== 0 || s === "localhost", "must be an IP address"),
    ),
    "0.0.0.0",
  ),
  PORT: v.optional(integer(0, 65_535), "8080"),
  METRICS_PORT: v.optional(integer(0, 65_535), "9090"),
  PUBLIC_URL: v.optional(url("http:", "https:")),
  LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`), "info"),
  DATABASE_URL: url("postgres:", "postgresql:"),
  DATABASE_MAX_CONNECTIONS: v.optional(integer(1, 1_000), "10"),
  REDIS_URL: url("redis:", "rediss:"),
  S3_ENDPOINT: v.optional(url("http:", "https:")),
  S3_PUBLIC_ENDPOINT: v.optional(url("http:", "https:")),
  S3_REGION: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,64}$/, "must be a region, e.g. eu-central-1")),
    "us-east-1",
  ),
  S3_BUCKET: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be a bucket name")),
  ),
  S3_ACCESS_KEY_ID: v.optional(v.pipe(v.string(), v.minLength(1, "must not be empty"))),
  S3_SECRET_ACCESS_KEY: v.optional(v.pipe(v.string(), v.minLength(1, "must not be empty"))),
  DNS_SERVERS: v.optional(list(isServerAddress, "must be a comma list of ip:port")),
  SMTP_PORT: v.optional(integer(1, 65_535), "25"),
  SMTP_HELO_NAME: v.optional(domainName),
  SMTP_MAIL_FROM: v.optional(mailFrom),
  SMTP_SOURCE_ADDRESSES: v.optional(
    list((s) => isIP(s) !== 0, "must be a comma list of IP addresses of this host"),
  ),
  EGRESS_ID: v.optional(
    v.pipe(v.string(), v.regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 letters, digits, dots, dashes")),
  ),
  PROBE_PRIVATE_ADDRESSES: v.optional(flag, "false"),
  VERIFY_DEADLINE_MS: v.optional(integer(100, 120_000), "10000"),
  CHECK_THREADS: v.optional(integer(1, 256)),
  TRUSTED_PROXIES: v.optional(
    list(isNetwork, "must be a comma list of addresses or networks, e.g. 10.0.0.0/8"),
  ),
  CACHE_LIFETIMES: v.optional(lifetimes),
  CACHE_ENTRIES: v.optional(integer(0, 50_000_000), "100000"),
  SHUTDOWN_GRACE_MS: v.optional(integer(1_000, 600_000), "25000"),
});

/** Settings of `API.md` that this version does not act on: refused, so that none is believed to be in force. */
const NOT_IN_FORCE = ["SMTP_PROXIES"] as const;

export const SETTING_NAMES = Object.keys(SettingsSchema.entries) as (keyof typeof SettingsSchema.entries)[];

export interface Config {
  role: Role;
  http: {
    host: string;
    port: number;
    metricsPort: number;
    publicUrl: string | null;
    trustedProxies: string[];
  };
  logLevel: (typeof LOG_LEVELS)[number];
  database: { url: string; maxConnections: number };
  redis: { url: string };
  /** null: no object storage is configured. */
  objects: {
    endpoint: string | null;
    publicEndpoint: string | null;
    region: string;
    bucket: string;
    credentials: { accessKeyId: string; secretAccessKey: string } | null;
  } | null;
  dns: { servers: string[] };
  /** `heloNameGiven` false: the name was made up from the host's. */
  smtp: SmtpConfig & { heloNameGiven: boolean };
  verify: {
    deadlineMs: number;
    threads: number;
    cacheEntries: number;
    lifetimesS: ReadonlyMap<string, number>;
  };
  shutdownGraceMs: number;
}

/** What a probe says of itself and where it goes. Plain data: it crosses into the check threads. */
export interface SmtpConfig {
  port: number;
  heloName: string;
  /** Reverse path of MAIL FROM; "" is the null sender. */
  mailFrom: string;
  sourceAddresses: string[];
  egressId: string;
  probePrivateAddresses: boolean;
}

/** The value of NAME, or the trimmed content of the file that NAME_FILE names (mounted secrets). */
function readSetting(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const direct = env[name];
  const file = env[`${name}_FILE`];
  if (direct !== undefined && direct !== "") {
    if (file !== undefined && file !== "")
      throw new ConfigError(`${name}: set either ${name} or ${name}_FILE, not both`);
    return direct;
  }
  if (file === undefined || file === "") return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new ConfigError(
      `${name}_FILE: cannot read ${file} (${(error as NodeJS.ErrnoException).code ?? "error"})`,
    );
  }
}

function defaultHeloName(): string {
  const name = hostname().toLowerCase();
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name) ? name : "localhost.localdomain";
}

type Settings = v.InferOutput<typeof SettingsSchema>;

function readSettings(env: NodeJS.ProcessEnv): Settings {
  const raw: Record<string, string> = {};
  for (const name of SETTING_NAMES) {
    const value = readSetting(env, name);
    if (value !== undefined) raw[name] = value;
  }
  const parsed = v.safeParse(SettingsSchema, raw, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const name = v.getDotPath(issue) ?? "configuration";
  throw new ConfigError(`${name}: ${raw[name] === undefined ? "is required" : issue.message}`);
}

function checkAcross(env: NodeJS.ProcessEnv, s: Settings): void {
  for (const name of NOT_IN_FORCE) {
    if (readSetting(env, name) !== undefined)
      throw new ConfigError(`${name}: is not supported by this version; unset it`);
  }
  if ((s.S3_ACCESS_KEY_ID === undefined) !== (s.S3_SECRET_ACCESS_KEY === undefined)) {
    const missing = s.S3_ACCESS_KEY_ID === undefined ? "S3_ACCESS_KEY_ID" : "S3_SECRET_ACCESS_KEY";
    throw new ConfigError(`${missing}: is required when its counterpart is set`);
  }
  if (s.S3_ENDPOINT !== undefined && s.S3_BUCKET === undefined)
    throw new ConfigError("S3_BUCKET: is required when S3_ENDPOINT is set");
  if (s.PORT !== 0 && s.PORT === s.METRICS_PORT) throw new ConfigError("METRICS_PORT: must differ from PORT");
  if (s.SMTP_PORT !== 25 && !s.PROBE_PRIVATE_ADDRESSES) {
    throw new ConfigError(
      "SMTP_PORT: mail exchangers answer on port 25; another one needs PROBE_PRIVATE_ADDRESSES=true (tests, demo)",
    );
  }
}

/**
 * Reads and checks every setting. The only reader of the environment.
 * @throws ConfigError one line that names the first wrong variable.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const s = readSettings(env);
  checkAcross(env, s);
  const heloName = s.SMTP_HELO_NAME ?? defaultHeloName();
  return {
    role: s.ROLE,
    http: {
      host: s.HOST === "localhost" ? "127.0.0.1" : s.HOST,
      port: s.PORT,
      metricsPort: s.METRICS_PORT,
      publicUrl: s.PUBLIC_URL ?? null,
      trustedProxies: s.TRUSTED_PROXIES ?? [],
    },
    logLevel: s.LOG_LEVEL,
    database: { url: s.DATABASE_URL, maxConnections: s.DATABASE_MAX_CONNECTIONS },
    redis: { url: s.REDIS_URL },
    objects:
      s.S3_BUCKET === undefined
        ? null
        : {
            endpoint: s.S3_ENDPOINT ?? null,
            publicEndpoint: s.S3_PUBLIC_ENDPOINT ?? s.S3_ENDPOINT ?? null,
            region: s.S3_REGION,
            bucket: s.S3_BUCKET,
            credentials:
              s.S3_ACCESS_KEY_ID === undefined || s.S3_SECRET_ACCESS_KEY === undefined
                ? null
                : { accessKeyId: s.S3_ACCESS_KEY_ID, secretAccessKey: s.S3_SECRET_ACCESS_KEY },
          },
    dns: { servers: s.DNS_SERVERS ?? getServers() },
    smtp: {
      port: s.SMTP_PORT,
      heloName,
      heloNameGiven: s.SMTP_HELO_NAME !== undefined,
      mailFrom: s.SMTP_MAIL_FROM ?? "",
      sourceAddresses: s.SMTP_SOURCE_ADDRESSES ?? [],
      egressId: s.EGRESS_ID ?? hostname().slice(0, 64),
      probePrivateAddresses: s.PROBE_PRIVATE_ADDRESSES,
    },
    verify: {
      deadlineMs: s.VERIFY_DEADLINE_MS,
      threads: s.CHECK_THREADS ?? availableParallelism(),
      cacheEntries: s.CACHE_ENTRIES,
      lifetimesS: s.CACHE_LIFETIMES ?? new Map(),
    },
    shutdownGraceMs: s.SHUTDOWN_GRACE_MS,
  };
}

/**
 * Tells uWebSockets.js how large a request's header may be. It reads this variable when its binary is loaded and has no
 * other way in; 4 096 bytes, its default, is too little behind proxies that add cookies and tokens.
 */
export function limitNativeHeaders(bytes: number, env: NodeJS.ProcessEnv = process.env): void {
  env.UWS_HTTP_MAX_HEADERS_SIZE = String(bytes);
}

/**
 * The environment for a child process: ours, with some settings replaced. A replaced setting loses its NAME_FILE, so
 * that the child does not find both.
 */
export function childEnvironment(replaced: Partial<Record<keyof Settings, string>>): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, ...replaced };
  for (const name of Object.keys(replaced)) delete env[`${name}_FILE`];
  return env;
}
