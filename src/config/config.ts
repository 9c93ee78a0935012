import { getServers } from "node:dns";
import { readFileSync } from "node:fs";
import { availableParallelism, homedir, hostname, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as v from "valibot";
import { type BillingConfig, readBilling } from "./billing-config.ts";
import type { DomainSignalsConfig, SelfCheckConfig, SmtpConfig } from "./probe-config.ts";
import {
  type ChecksSettings,
  findConflicts,
  findProbingConflicts,
  type PreflightSettings,
  type SettingConflict,
  type Settings,
} from "./setting-conflicts.ts";
import {
  ChecksSchema,
  type LogLevel,
  PreflightSchema,
  type ProcessRole,
  type REGISTRATIONS,
  SettingsSchema,
} from "./settings.ts";

export type { BillingConfig, BillingInterval, BillingPlan, BillingTier } from "./billing-config.ts";
export type {
  DomainSignalsConfig,
  ProxyConfig,
  SelfCheckConfig,
  SmtpConfig,
  SourceAddress,
} from "./probe-config.ts";
export type { ProcessRole } from "./settings.ts";

/** A wrong setting. `message` is one line that names the variable; the process prints it and stops. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

export const SETTING_NAMES = Object.keys(SettingsSchema.entries) as (keyof typeof SettingsSchema.entries)[];

export interface Config {
  role: ProcessRole;
  http: {
    host: string;
    port: number;
    metricsHost: string;
    metricsPort: number;
    publicUrl: string | null;
    trustedProxies: string[];
  };
  logLevel: LogLevel;
  database: { url: string; maxConnections: number };
  redis: { url: string };
  /** null: object storage is not configured. */
  objects: {
    endpoint: string | null;
    publicEndpoint: string | null;
    region: string;
    bucket: string;
    credentials: { accessKeyId: string; secretAccessKey: string } | null;
  } | null;
  dns: { servers: string[] };
  signals: DomainSignalsConfig;
  /** `heloNameGiven` false: the name is derived from the host's. */
  smtp: SmtpConfig & { heloNameGiven: boolean };
  /** The operator's overrides of the built-in shaping; null: none. */
  shaping: { json: string; setting: string } | null;
  selfCheck: SelfCheckConfig;
  verify: {
    deadlineMs: number;
    threads: number;
    cacheEntries: number;
    lifetimesS: ReadonlyMap<string, number>;
  };
  /** Whether anyone, only invited users, or no one may create an account. */
  registration: (typeof REGISTRATIONS)[number];
  /** 32 bytes that encrypt secrets which must be read again (webhook secrets, queued mails); null: no such feature is on. */
  secretsKey: Buffer | null;
  /** Outgoing mail; null: disabled. */
  mail: { url: string; from: string } | null;
  webhooks: { privateAddresses: boolean };
  /** null: no billing. */
  billing: BillingConfig | null;
  corsOrigins: string[];
  /** Directory for the temporary files of bulk jobs. */
  scratchDir: string;
  /** Waiting times of deferred rows of bulk jobs. */
  deferral: {
    /** Wait after the first temporary refusal when the server names no time; doubles each time. */
    firstMs: number;
    /** Time after its first deferral during which a refused row is retried. */
    maxMs: number;
    /** Time after its first deferral during which a row waits for a busy site. */
    queueMaxMs: number;
  };
  /** The first pause for a site that blocks us. */
  breaker: { firstMs: number };
  /** Days after a job's end when its data is removed. */
  retentionDays: number;
  /** Maximum time from SIGTERM to exit, `drainDelayMs` included. */
  shutdownGraceMs: number;
  /** After SIGTERM a process reports not ready but serves for this long, so that load balancers notice. */
  drainDelayMs: number;
  /** null: no traces. */
  tracing: TracingConfig | null;
}

/** Export of traces by OTLP over HTTP. Plain data: it is passed to the check threads. */
export interface TracingConfig {
  /** Base address of a collector; `/v1/traces` is appended. */
  endpoint: string;
  headers: ReadonlyMap<string, string>;
  serviceName: string;
  /** Share of requests and chunks to trace when they bring no decision of their own: 0 to 1. */
  ratio: number;
}

/** The configuration that preflight needs. */
export type PreflightConfig = Pick<Config, "logLevel" | "dns" | "smtp" | "shaping" | "selfCheck">;

/** The configuration that checks need. */
export type ChecksConfig = PreflightConfig & Pick<Config, "signals" | "verify" | "breaker">;

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

/** The name as the operator gave it: `NAME`, or `NAME_FILE` with the file. */
function settingName(env: NodeJS.ProcessEnv, name: string): string {
  const file = env[`${name}_FILE`];
  return file === undefined || file === "" ? name : `${name}_FILE: ${file}`;
}

function defaultHeloName(): string {
  const name = hostname().toLowerCase();
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name) ? name : "localhost.localdomain";
}

function withHeloNames<T extends { heloName: string | null }>(routes: T[], defaultName: string) {
  return routes.map((way) => ({ ...way, heloName: way.heloName ?? defaultName }));
}

function readSettings<E extends v.ObjectEntries>(
  env: NodeJS.ProcessEnv,
  schema: v.ObjectSchema<E, undefined>,
): v.InferOutput<typeof schema> {
  const raw: Record<string, string> = {};
  for (const name of Object.keys(schema.entries)) {
    const value = readSetting(env, name);
    if (value !== undefined) raw[name] = value;
  }
  const parsed = v.safeParse(schema, raw, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const name = v.getDotPath(issue) ?? "configuration";
  throw new ConfigError(`${name}: ${raw[name] === undefined ? "is required" : issue.message}`);
}

/** @throws ConfigError for the first conflict */
function throwFirstConflict([conflict]: SettingConflict[]): void {
  if (conflict !== undefined) throw new ConfigError(`${conflict.setting}: ${conflict.message}`);
}

/** The settings of probes and preflight. */
function readProbeConfig(env: NodeJS.ProcessEnv, s: PreflightSettings): PreflightConfig {
  const heloName = s.SMTP_HELO_NAME ?? defaultHeloName();
  return {
    logLevel: s.LOG_LEVEL,
    dns: { servers: s.DNS_SERVERS ?? getServers() },
    smtp: {
      port: s.SMTP_PORT,
      heloName,
      heloNameGiven: s.SMTP_HELO_NAME !== undefined,
      mailFrom: s.SMTP_MAIL_FROM ?? "",
      sourceAddresses: withHeloNames(s.SMTP_SOURCE_ADDRESSES ?? [], heloName),
      proxies: withHeloNames(s.SMTP_PROXIES ?? [], heloName),
      egressId: s.EGRESS_ID ?? hostname().slice(0, 64),
      probePrivateAddresses: s.PROBE_PRIVATE_ADDRESSES,
    },
    shaping: s.SHAPING === undefined ? null : { json: s.SHAPING, setting: settingName(env, "SHAPING") },
    selfCheck: { dnsblZones: s.DNSBL_ZONES, everyMs: s.PREFLIGHT_EVERY_S * 1_000 },
  };
}

/** Like `loadConfig`, for preflight only: it needs no database or other service. */
export function loadPreflightConfig(env: NodeJS.ProcessEnv = process.env): PreflightConfig {
  const s = readSettings(env, PreflightSchema);
  throwFirstConflict(findProbingConflicts(s));
  return readProbeConfig(env, s);
}

/**
 * Like `loadConfig`, for checks without a server: they need no database or other service.
 * @param logLevel where the settings name none
 */
export function loadChecksConfig(
  settings: NodeJS.ProcessEnv = process.env,
  logLevel: LogLevel = "silent",
): ChecksConfig {
  const env = { LOG_LEVEL: logLevel, ...settings };
  const s = readSettings(env, ChecksSchema);
  throwFirstConflict(findProbingConflicts(s));
  return readChecksConfig(env, s, "api");
}

/** The service that the command `rcpt` talks to, and its key; null: not set. */
export function loadServiceAddress(env: NodeJS.ProcessEnv = process.env): {
  url: string | null;
  key: string | null;
} {
  return {
    url: readSetting(env, "RCPT_URL") ?? null,
    key: readSetting(env, "RCPT_API_KEY") ?? null,
  };
}

/** Folders of the user (XDG Base Directory): `config` for settings, `state` for unfinished work. */
export function loadUserFolders(env: NodeJS.ProcessEnv = process.env): { config: string; state: string } {
  // The specification says to ignore a relative path.
  const folderOf = (name: string, standard: string) =>
    isAbsolute(env[name] ?? "") ? join(env[name] ?? "", "rcpt") : join(homedir(), standard, "rcpt");
  return {
    config: folderOf("XDG_CONFIG_HOME", ".config"),
    state: folderOf("XDG_STATE_HOME", ".local/state"),
  };
}

/**
 * Reads and checks every setting. The only reader of the environment.
 * @throws ConfigError one line that names the first wrong variable
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const s = readSettings(env, SettingsSchema);
  throwFirstConflict(findConflicts(s));
  return buildConfig(env, s);
}

/**
 * Number of check threads for a process with this many cores: one for each. In a bulk worker the main thread does as much
 * for a row as they do, so it has a core to itself. On two cores a second check thread cost 7 µs more a row: it compiles
 * everything again, and each of the two has less to do in a tick.
 */
export function countCheckThreads(role: ProcessRole, cores: number): number {
  return role === "bulk" ? Math.max(1, cores - 1) : cores;
}

function readChecksConfig(env: NodeJS.ProcessEnv, s: ChecksSettings, role: ProcessRole): ChecksConfig {
  return {
    ...readProbeConfig(env, s),
    signals: { ...s.DOMAIN_SIGNALS, blocklistZones: s.DOMAIN_BLOCKLIST_ZONES ?? [] },
    verify: {
      deadlineMs: s.VERIFY_DEADLINE_MS,
      threads: s.CHECK_THREADS ?? countCheckThreads(role, availableParallelism()),
      cacheEntries: s.CACHE_ENTRIES,
      lifetimesS: s.CACHE_LIFETIMES ?? new Map(),
    },
    breaker: { firstMs: s.BREAKER_FIRST_S * 1_000 },
  };
}

function buildConfig(env: NodeJS.ProcessEnv, s: Settings): Config {
  return {
    role: s.ROLE,
    http: {
      host: s.HOST,
      port: s.PORT,
      metricsHost: s.METRICS_HOST,
      metricsPort: s.METRICS_PORT,
      publicUrl: s.PUBLIC_URL ?? null,
      trustedProxies: s.TRUSTED_PROXIES ?? [],
    },
    ...readChecksConfig(env, s, s.ROLE),
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
    registration: s.REGISTRATION,
    secretsKey: s.SECRETS_KEY ?? null,
    mail: s.SMTP_OUT_URL === undefined ? null : { url: s.SMTP_OUT_URL, from: s.SMTP_OUT_FROM ?? "" },
    webhooks: { privateAddresses: s.WEBHOOK_PRIVATE_ADDRESSES },
    billing: readBilling(s),
    corsOrigins: s.CORS_ORIGINS ?? [],
    scratchDir: s.SCRATCH_DIR ?? tmpdir(),
    deferral: {
      firstMs: s.DEFERRAL_FIRST_S * 1_000,
      maxMs: s.DEFERRAL_MAX_S * 1_000,
      queueMaxMs: s.DEFERRAL_QUEUE_MAX_S * 1_000,
    },
    retentionDays: s.RETENTION_DAYS,
    shutdownGraceMs: s.SHUTDOWN_GRACE_MS,
    drainDelayMs: s.DRAIN_DELAY_MS,
    tracing:
      s.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? null
        : {
            endpoint: s.OTEL_EXPORTER_OTLP_ENDPOINT,
            headers: s.OTEL_EXPORTER_OTLP_HEADERS ?? new Map(),
            serviceName: s.OTEL_SERVICE_NAME,
            ratio: s.OTEL_TRACES_SAMPLER_ARG,
          },
  };
}

/** A wrong setting, reported together with others. */
export interface SettingProblem {
  setting: string;
  message: string;
  /** Kubernetes writes such a value into every pod's environment for a Service whose name the variable starts with. */
  isServiceLink: boolean;
}

/** The environment's settings, right and wrong. */
export interface ConfigDiagnosis {
  problems: SettingProblem[];
  /** Built from the correct settings. A wrong or missing DATABASE_URL or REDIS_URL is replaced by an unreachable one. */
  config: Config;
  /** Correct settings, however they were given. */
  given: ReadonlySet<string>;
  /** Non-empty variables, settings or not. */
  variables: readonly string[];
}

const NOWHERE = { DATABASE_URL: "postgres://unset.invalid/unset", REDIS_URL: "redis://unset.invalid" };

/** Like `loadConfig`, but goes on after an error to find all of them. Never throws for a wrong setting. */
export function diagnoseConfig(env: NodeJS.ProcessEnv = process.env): ConfigDiagnosis {
  const problems: SettingProblem[] = [];
  const right: Record<string, string> = {};
  const report = (setting: string, message: string, value = "") =>
    problems.push({ setting, message, isServiceLink: /^(tcp|udp):\/\/[\d.]+:\d+$/.test(value) });
  for (const name of SETTING_NAMES) {
    try {
      const value = readSetting(env, name);
      if (value !== undefined) right[name] = value;
    } catch (error) {
      report(name, (error as Error).message.replace(`${name}: `, ""));
    }
  }
  for (const [name, entry] of Object.entries(SettingsSchema.entries)) {
    if (problems.some(({ setting }) => setting === name)) continue;
    const parsed = v.safeParse(entry, right[name], { abortPipeEarly: true });
    if (parsed.success) continue;
    report(name, right[name] === undefined ? "is required" : parsed.issues[0].message, right[name]);
    delete right[name];
  }
  const given = new Set(Object.keys(right));
  const parseValid = () => v.parse(SettingsSchema, { ...NOWHERE, ...right });
  for (const { setting, message, without } of findConflicts(parseValid())) {
    report(setting, message);
    for (const name of without) delete right[name];
  }
  const variables = Object.keys(env).filter((name) => env[name] !== "");
  return { problems, config: buildConfig(env, parseValid()), given, variables };
}

/**
 * Sets the maximum size of request headers for uWebSockets.js. It reads this variable when its binary is loaded and has no
 * other option. Its default of 4 096 bytes is too small behind proxies that add cookies and tokens.
 */
export function limitNativeHeaders(bytes: number, env: NodeJS.ProcessEnv = process.env): void {
  env.UWS_HTTP_MAX_HEADERS_SIZE = String(bytes);
}

/**
 * Environment for a child process: ours, with some settings replaced. A replaced setting loses its NAME_FILE, so that the
 * child does not find both.
 */
export function childEnvironment(replaced: Partial<Record<keyof Settings, string>>): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, ...replaced };
  for (const name of Object.keys(replaced)) delete env[`${name}_FILE`];
  return env;
}
