import type { SettingsSchema } from "../../src/config/settings.ts";

type SettingName = keyof typeof SettingsSchema.entries;

/** Text of docs/configuration.md about a setting, in addition to its schema. */
export interface SettingDescription {
  /** Roles that read it; a process of another role ignores it. */
  roles: readonly ("api" | "bulk" | "relay")[];
  /** Effect of leaving it out, where the schema has no default. Absent: the feature is off. */
  otherwise?: string;
  does: string;
}

const ALL = ["api", "bulk", "relay"] as const;
const PROBING = ["api", "bulk"] as const;
const API = ["api"] as const;
const BULK = ["bulk"] as const;
const API_AND_RELAY = ["api", "relay"] as const;

const price = (tier: string, interval: string): SettingDescription => ({
  roles: API_AND_RELAY,
  does: `Stripe's id of the price of \`${tier}\` by the ${interval}. Without it that plan is not for sale.`,
});

const process = {
  ROLE: {
    roles: ALL,
    does: "What the process does: `api` serves requests, `bulk` works on jobs, `relay` does what no caller waits for (webhooks, mails, billing, tidying). `all` runs the three under a supervisor.",
  },
  LOG_LEVEL: { roles: ALL, does: "Lowest level that is logged, as JSON lines on standard output." },
  SHUTDOWN_GRACE_MS: { roles: ALL, does: "From SIGTERM to exit, `DRAIN_DELAY_MS` included." },
  DRAIN_DELAY_MS: {
    roles: API,
    does: "Part of `SHUTDOWN_GRACE_MS`, at most half of it: for so long after SIGTERM the process says that it is not ready and serves as before, so that balancers and clients leave first.",
  },
} satisfies Partial<Record<SettingName, SettingDescription>>;

const http = {
  HOST: { roles: API, does: "Address on which the API listens." },
  PORT: { roles: API, does: "Port of the API; 0: a free one." },
  METRICS_HOST: {
    roles: ALL,
    does: "Address on which metrics and probes listen. Whoever reaches it reads source addresses and traffic. The image sets `0.0.0.0`: keep the port private.",
  },
  METRICS_PORT: {
    roles: ALL,
    does: "Port of `/metrics`, `/healthz`, `/readyz` and `/preflight`. Must differ from `PORT`.",
  },
  PUBLIC_URL: {
    roles: ALL,
    does: "Where users reach the API: in `/openapi.json`, in the URLs of a job's results (paths without it), in links of invitations and mails. `npm start` sets it to the URL that it prints.",
  },
  TRUSTED_PROXIES: {
    roles: API,
    does: "Networks whose `X-Forwarded-For` is believed. Unknown credentials are limited by client address: behind a proxy that is not named here all clients share its address, and new keys may have to wait. See [proxies.md](proxies.md).",
  },
  CORS_ORIGINS: { roles: API, does: "Origins whose pages may call the API from a browser." },
  VERIFY_DEADLINE_MS: {
    roles: API,
    does: "A request is answered by then. Its probe goes on and fills the cache.",
  },
} satisfies Partial<Record<SettingName, SettingDescription>>;

const stores = {
  DATABASE_URL: { roles: ALL, does: "PostgreSQL 14 or newer." },
  DATABASE_MAX_CONNECTIONS: { roles: ALL, does: "Connections to PostgreSQL that a process may open." },
  REDIS_URL: { roles: ALL, does: "Redis 7 or newer, or Valkey 8, with `maxmemory-policy volatile-lru`." },
  S3_BUCKET: { roles: ALL, does: "Bucket for uploads, shards and results. Without it there are no lists." },
  S3_ENDPOINT: {
    roles: ALL,
    otherwise: "Amazon's",
    does: "Address of the object storage; needs `S3_BUCKET`.",
  },
  S3_PUBLIC_ENDPOINT: {
    roles: API,
    otherwise: "`S3_ENDPOINT`",
    does: "Is signed into presigned URLs, so it must be the host that clients see. Browsers need CORS on the bucket.",
  },
  S3_REGION: { roles: ALL, does: "Region of the bucket." },
  S3_ACCESS_KEY_ID: {
    roles: ALL,
    otherwise: "the SDK's provider chain",
    does: "Access key, with `S3_SECRET_ACCESS_KEY`. [Rights that it needs](operations.md#rights-in-object-storage). With temporary credentials, presigned URLs end with them.",
  },
  S3_SECRET_ACCESS_KEY: {
    roles: ALL,
    otherwise: "the SDK's provider chain",
    does: "Goes with `S3_ACCESS_KEY_ID`.",
  },
  SCRATCH_DIR: {
    roles: PROBING,
    otherwise: "the system's temporary directory",
    does: "Directory for temporary files; should be on a disk. Takes 28 bytes a row while a list is analysed, and the size of the repeated results while results are joined (16 GiB at most in an `api` process). A killed process leaves nothing there.",
  },
  RETENTION_DAYS: { roles: ALL, does: "How long uploads, jobs and their results are kept." },
} satisfies Partial<Record<SettingName, SettingDescription>>;

const probing = {
  SMTP_HELO_NAME: {
    roles: PROBING,
    otherwise: "the host name",
    does: "Name in EHLO. Must resolve to the source address, and back. Until it does, no refusal makes an address `invalid`.",
  },
  SMTP_MAIL_FROM: { roles: PROBING, otherwise: "`<>`", does: "Reverse path (MAIL FROM) of probes." },
  SMTP_SOURCE_ADDRESSES: {
    roles: PROBING,
    otherwise: "the machine's choice",
    does: "Addresses of this host that probes come from. A `helo-name` is the name that the address's PTR record gives. A site always gets the same one.",
  },
  SMTP_PROXIES: {
    roles: PROBING,
    does: "SOCKS5 proxies that probes go through. A direct address is then used only if it is listed in `SMTP_SOURCE_ADDRESSES`, or named `direct` in shaping. A proxy's name is looked up once a minute.",
  },
  EGRESS_ID: {
    roles: PROBING,
    otherwise: "the host name",
    does: "Processes that share source addresses or proxies share it, with the same routes and shaping. They then share connection caps and what is known of sites that block us. Give workers a stable one: deferred rows are asked again by the same egress.",
  },
  SHAPING: {
    roles: PROBING,
    does: "JSON laid over the built-in shaping, see [below](#shaping). Mostly given as `SHAPING_FILE`.",
  },
  BREAKER_FIRST_S: {
    roles: PROBING,
    does: "For so long a site that blocks us is left alone at first; then twice as long each time, up to 15 minutes.",
  },
  DNS_SERVERS: {
    roles: ALL,
    otherwise: "the machine's",
    does: "DNS servers to ask. For volume, one of your own that caches.",
  },
  DOMAIN_SIGNALS: {
    roles: PROBING,
    does: "What is asked of the DNS about a domain beside its MX; `none`: nothing.",
  },
  DOMAIN_BLOCKLIST_ZONES: {
    roles: PROBING,
    does: "Block lists of domains to ask about each domain. Mind their terms of use.",
  },
  DNSBL_ZONES: {
    roles: PROBING,
    does: "Block lists that are asked about our own addresses; `none` asks none. Spamhaus answers no public resolvers and wants commercial users on its own service: put your zone here. A list that fails its own test points (RFC 5782) is ignored and named.",
  },
  PREFLIGHT_EVERY_S: {
    roles: PROBING,
    does: "How often our sender identity is checked while the process probes.",
  },
  CHECK_THREADS: {
    roles: PROBING,
    otherwise: "one per core; one less in `bulk`, at least one",
    does: "Check threads of the process. The main thread of a worker of jobs needs as much CPU as they do.",
  },
  CACHE_ENTRIES: { roles: PROBING, does: "Entries of evidence that a process keeps in memory." },
  CACHE_LIFETIMES: {
    roles: PROBING,
    otherwise: "[verdicts.md](verdicts.md), column *kept*",
    does: "How long evidence that leads to a reason is kept, where it should differ.",
  },
  SMTP_PORT: { roles: PROBING, does: "For tests: another port than 25; needs `PROBE_PRIVATE_ADDRESSES`." },
  PROBE_PRIVATE_ADDRESSES: { roles: PROBING, does: "For tests: probes may go to private addresses." },
} satisfies Partial<Record<SettingName, SettingDescription>>;

const jobs = {
  DEFERRAL_FIRST_S: {
    roles: BULK,
    does: "A deferred row is tried again after this, where the server names no time; then after twice as long each time.",
  },
  DEFERRAL_MAX_S: {
    roles: BULK,
    does: "For so long in all a deferred row is tried again; shorter for [some replies](verdicts.md#asked-again).",
  },
  DEFERRAL_QUEUE_MAX_S: {
    roles: BULK,
    does: "For so long a row waits for its turn at a server that lets us open few connections, or at a site that blocks us.",
  },
} satisfies Partial<Record<SettingName, SettingDescription>>;

const accounts = {
  REGISTRATION: {
    roles: API,
    does: "Who may make an account. `open`: everybody; where mail is sent, the address has to be confirmed. `invite`: invited people only. `closed`: no one.",
  },
  SECRETS_KEY: {
    roles: API_AND_RELAY,
    does: "Encrypts webhook secrets and mails that wait. Without it there are no webhooks. Keep it as long as the database, and apart from its back-ups.",
  },
  SMTP_OUT_URL: {
    roles: API_AND_RELAY,
    does: "Server for invitations, password resets and confirmations, `smtp://user:password@host:587`. With it an address is confirmed by mail before it has an account. Needs a relay, `SMTP_OUT_FROM`, `SECRETS_KEY` and `PUBLIC_URL`. `smtp://` demands STARTTLS unless the host is loopback; `?requireTLS=false` is for a server without.",
  },
  SMTP_OUT_FROM: { roles: API_AND_RELAY, does: "Sender of those mails." },
  WEBHOOK_PRIVATE_ADDRESSES: {
    roles: API_AND_RELAY,
    does: "For tests: webhooks may go to private addresses and over plain HTTP.",
  },
} satisfies Partial<Record<SettingName, SettingDescription>>;

const billing = {
  STRIPE_SECRET_KEY: {
    roles: API_AND_RELAY,
    does: "Secret key of Stripe's API. [How to set billing up](operations.md#selling-subscriptions).",
  },
  STRIPE_WEBHOOK_SECRET: {
    roles: API_AND_RELAY,
    does: "Signing secret of Stripe's webhook endpoint; goes with `STRIPE_SECRET_KEY`.",
  },
  STRIPE_PRICE_STARTER_MONTH: price("starter", "month"),
  STRIPE_PRICE_STARTER_YEAR: price("starter", "year"),
  STRIPE_PRICE_PRO_MONTH: price("pro", "month"),
  STRIPE_PRICE_PRO_YEAR: price("pro", "year"),
  STRIPE_PRICE_PRO_PLUS_MONTH: price("pro_plus", "month"),
  STRIPE_PRICE_PRO_PLUS_YEAR: price("pro_plus", "year"),
  STRIPE_RETURN_URL: {
    roles: API,
    otherwise: "`PUBLIC_URL`/billing",
    does: "Where customers land after Stripe's pages; after a payment with `checkout=paid` in its query.",
  },
  STRIPE_API_BASE: { roles: API_AND_RELAY, does: "For tests: another origin than Stripe's." },
} satisfies Partial<Record<SettingName, SettingDescription>>;

const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    roles: ALL,
    does: "Collector of traces, by OTLP over HTTP to `<endpoint>/v1/traces`. Without it there are none, and they cost nothing. See [observability.md](observability.md).",
  },
  OTEL_EXPORTER_OTLP_HEADERS: { roles: ALL, does: "Header fields for the collector, e.g. a token." },
  OTEL_SERVICE_NAME: { roles: ALL, does: "Name of the service in traces." },
  OTEL_TRACES_SAMPLER_ARG: {
    roles: ALL,
    does: "Share of requests and jobs that is traced. The `traceparent` of a sender with a valid credential decides instead.",
  },
} satisfies Partial<Record<SettingName, SettingDescription>>;

/** Every setting in the order of docs/configuration.md, by section. */
export const SECTIONS: Readonly<Record<string, Partial<Record<SettingName, SettingDescription>>>> = {
  Process: process,
  "HTTP and requests": http,
  Stores: stores,
  Probing: probing,
  "Rows of jobs that wait": jobs,
  "Accounts, mails, webhooks": accounts,
  Billing: billing,
  Traces: tracing,
};
