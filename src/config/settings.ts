import { isIP } from "node:net";
import * as v from "valibot";
import { areDistinct, parseProxy, parseSourceAddress } from "./egress-settings.ts";

/** The settings, by name, as the environment writes them: each with its form, bounds and default. */

export const PROCESS_ROLES = ["api", "bulk", "relay", "all"] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const REGISTRATIONS = ["open", "invite", "closed"] as const;

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

/** `name=value, ...`, values as %XX where needed (OpenTelemetry's form). */
const otlpHeaders = v.pipe(
  v.string(),
  v.transform((s) => s.split(",").map((part) => part.trim())),
  v.check(
    (items) =>
      items.length <= 16 && items.every((item) => /^[A-Za-z0-9_-]{1,64}=[\x21-\x7e]{1,4096}$/.test(item)),
    "must be a comma list of at most 16 name=value",
  ),
  v.transform((items) => items.map((item) => item.split(/=(.*)/s, 2) as [string, string])),
  v.check(
    (items) => items.every(([, value]) => isPercentEncoded(value)),
    "has a value that is not percent-encoded",
  ),
  v.transform(
    (items) => new Map(items.map(([name, value]) => [name.toLowerCase(), decodeURIComponent(value)])),
  ),
);

function isPercentEncoded(text: string): boolean {
  try {
    return !/[^\x20-\x7e]/.test(decodeURIComponent(text));
  } catch {
    return false;
  }
}

const ratio = v.pipe(
  v.string(),
  v.regex(/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/, "must be a number from 0 to 1"),
  v.transform(Number),
);

/** DNS queries for a domain besides its exchangers. */
const domainSignals = v.pipe(
  v.string(),
  v.transform((s) => s.split(",").map((part) => part.trim())),
  v.check(
    (items) =>
      (items.length === 1 && items[0] === "none") || items.every((item) => /^(spf|dmarc)$/.test(item)),
    "must be a comma list of spf and dmarc, or none",
  ),
  v.transform((items) => ({ spf: items.includes("spf"), dmarc: items.includes("dmarc") })),
);

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

const sourceAddresses = v.pipe(
  list(
    (s) => parseSourceAddress(s) !== null,
    "must be a comma list of IP addresses of this host, each alone or as address=helo-name",
  ),
  v.transform((items) => items.flatMap((item) => parseSourceAddress(item) ?? [])),
  v.check((items) => areDistinct(items.map(({ address }) => address)), "names an address twice"),
);

const proxies = v.pipe(
  list(
    (s) => parseProxy(s) !== null,
    "must be a comma list of socks5://[user:password@]host:port[#helo=name], special characters as %XX",
  ),
  v.transform((items) => items.flatMap((item) => parseProxy(item) ?? [])),
  v.check((items) => areDistinct(items.map(({ host, port }) => `${host} ${port}`)), "names a proxy twice"),
);

/** An ASCII dot-atom at a host name: acceptable in MAIL FROM to any server. */
const mailFrom = v.pipe(
  v.string(),
  v.maxLength(254, "must have at most 254 characters"),
  v.regex(
    /^$|^<>$|^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*$/,
    "must be an address, or <> for the null sender",
  ),
  v.transform((s) => (s === "<>" ? "" : s)),
);

const mailboxAddress = v.pipe(
  v.string(),
  v.maxLength(254, "must have at most 254 characters"),
  v.regex(/^[^\s@<>]{1,64}@[^\s@<>]{1,253}$/, "must be an address, e.g. rcpt@example.com"),
);

const secret = v.pipe(v.string(), v.minLength(8, "must have at least 8 characters"), v.maxLength(512));
const priceId = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,255}$/, "must be a price id, e.g. price_1AbC"));

/** 32 bytes as base64 or hex. */
const secretsKey = v.pipe(
  v.string(),
  v.check(
    (s) => /^[0-9a-f]{64}$/i.test(s) || /^[A-Za-z0-9+/]{43}=$/.test(s),
    "must be 32 random bytes as base64 or hex, e.g. from `openssl rand -base64 32`",
  ),
  v.transform((s) => Buffer.from(s, s.length === 64 ? "hex" : "base64")),
);

/** scheme://host[:port], nothing more. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text;
}

/** Stripe's client takes scheme, host and port only: it would ignore the rest of a longer base. */
const apiBase = v.pipe(
  v.string(),
  v.check((s) => {
    if (!URL.canParse(s)) return false;
    const { protocol, origin, href } = new URL(s);
    return /^https?:$/.test(protocol) && href === `${origin}/`;
  }, "must be scheme://host[:port] without a path, e.g. https://api.stripe.com"),
  v.transform((s) => new URL(s).origin),
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

/** DNS blocklists whose terms allow a few look-ups an hour without registration. */
const DNSBL_DEFAULT = "zen.spamhaus.org,bl.spamcop.net,psbl.surriel.com,bl.mailspike.net";

const dnsblZones = v.pipe(
  list(
    (s) => s === "none" || /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/i.test(s),
    "must be a comma list of DNS zones, e.g. zen.spamhaus.org, or none",
  ),
  v.maxLength(16, "at most 16 zones"),
  v.check((zones) => zones.length === 1 || !zones.includes("none"), "must be none, or zones"),
  v.transform((zones) => zones.filter((zone) => zone !== "none").map((zone) => zone.toLowerCase())),
);

const listenAddress = v.pipe(
  v.string(),
  v.check((s) => isIP(s) !== 0 || s === "localhost", "must be an IP address"),
  v.transform((s) => (s === "localhost" ? "127.0.0.1" : s)),
);

export const SettingsSchema = v.object({
  ROLE: v.optional(v.picklist(PROCESS_ROLES, `must be one of ${PROCESS_ROLES.join(", ")}`), "all"),
  HOST: v.optional(listenAddress, "0.0.0.0"),
  PORT: v.optional(integer(0, 65_535), "8080"),
  // A client of that port reads source addresses and traffic: open it only to a network of your own that scrapes it.
  METRICS_HOST: v.optional(listenAddress, "127.0.0.1"),
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
  DOMAIN_SIGNALS: v.optional(domainSignals, "spf,dmarc"),
  DOMAIN_BLOCKLIST_ZONES: v.optional(
    v.pipe(
      list(
        (s) => /^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/i.test(s),
        "must be a comma list of DNS zones, e.g. dbl.example.net",
      ),
      v.maxLength(4, "at most 4 zones: each is asked about every domain"),
    ),
  ),
  SMTP_PORT: v.optional(integer(1, 65_535), "25"),
  SMTP_HELO_NAME: v.optional(domainName),
  SMTP_MAIL_FROM: v.optional(mailFrom),
  SMTP_SOURCE_ADDRESSES: v.optional(sourceAddresses),
  SMTP_PROXIES: v.optional(proxies),
  SHAPING: v.optional(v.pipe(v.string(), v.maxLength(1_000_000, "must have at most 1 000 000 characters"))),
  EGRESS_ID: v.optional(
    v.pipe(v.string(), v.regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 letters, digits, dots, dashes")),
  ),
  DNSBL_ZONES: v.optional(dnsblZones, DNSBL_DEFAULT),
  PREFLIGHT_EVERY_S: v.optional(integer(1, 86_400), "600"),
  PROBE_PRIVATE_ADDRESSES: v.optional(flag, "false"),
  VERIFY_DEADLINE_MS: v.optional(integer(100, 120_000), "10000"),
  CHECK_THREADS: v.optional(integer(1, 256)),
  TRUSTED_PROXIES: v.optional(
    list(isNetwork, "must be a comma list of addresses or networks, e.g. 10.0.0.0/8"),
  ),
  REGISTRATION: v.optional(v.picklist(REGISTRATIONS, `must be one of ${REGISTRATIONS.join(", ")}`), "open"),
  SECRETS_KEY: v.optional(secretsKey),
  SMTP_OUT_URL: v.optional(url("smtp:", "smtps:")),
  SMTP_OUT_FROM: v.optional(mailboxAddress),
  WEBHOOK_PRIVATE_ADDRESSES: v.optional(flag, "false"),
  STRIPE_SECRET_KEY: v.optional(secret),
  STRIPE_WEBHOOK_SECRET: v.optional(secret),
  STRIPE_API_BASE: v.optional(apiBase, "https://api.stripe.com"),
  STRIPE_RETURN_URL: v.optional(url("http:", "https:")),
  STRIPE_PRICE_STARTER_MONTH: v.optional(priceId),
  STRIPE_PRICE_STARTER_YEAR: v.optional(priceId),
  STRIPE_PRICE_PRO_MONTH: v.optional(priceId),
  STRIPE_PRICE_PRO_YEAR: v.optional(priceId),
  STRIPE_PRICE_PRO_PLUS_MONTH: v.optional(priceId),
  STRIPE_PRICE_PRO_PLUS_YEAR: v.optional(priceId),
  CORS_ORIGINS: v.optional(list(isOrigin, "must be a comma list of origins, e.g. https://app.example.com")),
  CACHE_LIFETIMES: v.optional(lifetimes),
  CACHE_ENTRIES: v.optional(integer(0, 50_000_000), "100000"),
  SCRATCH_DIR: v.optional(v.pipe(v.string(), v.minLength(1, "must not be empty"))),
  DEFERRAL_FIRST_S: v.optional(integer(1, 86_400), "300"),
  DEFERRAL_MAX_S: v.optional(integer(1, 604_800), "14400"),
  DEFERRAL_QUEUE_MAX_S: v.optional(integer(1, 604_800), "86400"),
  BREAKER_FIRST_S: v.optional(integer(1, 86_400), "60"),
  RETENTION_DAYS: v.optional(integer(1, 3_650), "30"),
  SHUTDOWN_GRACE_MS: v.optional(integer(1_000, 600_000), "25000"),
  DRAIN_DELAY_MS: v.optional(integer(0, 300_000), "0"),
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(url("http:", "https:")),
  OTEL_EXPORTER_OTLP_HEADERS: v.optional(otlpHeaders),
  OTEL_SERVICE_NAME: v.optional(
    v.pipe(v.string(), v.regex(/^[\w.-]{1,64}$/, "must be a name, e.g. rcpt")),
    "rcpt",
  ),
  OTEL_TRACES_SAMPLER_ARG: v.optional(ratio, "0.01"),
});

/** The settings that preflight needs: it also runs before anything else is set up. */
export const PreflightSchema = v.pick(SettingsSchema, [
  "LOG_LEVEL",
  "DNS_SERVERS",
  "SMTP_PORT",
  "SMTP_HELO_NAME",
  "SMTP_MAIL_FROM",
  "SMTP_SOURCE_ADDRESSES",
  "SMTP_PROXIES",
  "SHAPING",
  "EGRESS_ID",
  "DNSBL_ZONES",
  "PREFLIGHT_EVERY_S",
  "PROBE_PRIVATE_ADDRESSES",
]);

/** The settings of checks alone: of an engine without a server. */
export const ChecksSchema = v.object({
  ...PreflightSchema.entries,
  ...v.pick(SettingsSchema, [
    "DOMAIN_SIGNALS",
    "DOMAIN_BLOCKLIST_ZONES",
    "VERIFY_DEADLINE_MS",
    "CHECK_THREADS",
    "CACHE_ENTRIES",
    "CACHE_LIFETIMES",
    "BREAKER_FIRST_S",
  ]).entries,
});
