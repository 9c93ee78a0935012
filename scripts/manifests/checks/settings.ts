import { ConfigError, loadConfig, SETTING_NAMES } from "../../../src/config/config.ts";
import { type Document, type Finding, ofKind, workloadsOf } from "../documents.ts";
import { type Environment, ownContainers } from "../environment.ts";

/** Settings that no manifest sets, and why. */
export const NOT_SET: Readonly<Record<string, string>> = {
  HOST: "a pod is reached at all its addresses",
  DNS_SERVERS:
    "the pod's own resolver; set it to one of yours that caches and asks the root itself, for volume",
  DOMAIN_SIGNALS: "the default is right; a matter of taste",
  DOMAIN_BLOCKLIST_ZONES: "yours to choose: mind the terms of use",
  SMTP_PORT: "tests only",
  SMTP_SOURCE_ADDRESSES:
    "a pod has one address; a node's several need hostNetwork, or proxies (SMTP_PROXIES)",
  PREFLIGHT_EVERY_S: "the default is right",
  PROBE_PRIVATE_ADDRESSES: "tests only",
  VERIFY_DEADLINE_MS: "the default is right; a matter of taste",
  WEBHOOK_PRIVATE_ADDRESSES: "tests only",
  STRIPE_API_BASE: "tests only",
  CACHE_LIFETIMES: "the default is right; a matter of taste",
  DEFERRAL_FIRST_S: "the default is right; a matter of taste",
  DEFERRAL_MAX_S: "the default is right; a matter of taste",
  DEFERRAL_QUEUE_MAX_S: "the default is right; a matter of taste",
  BREAKER_FIRST_S: "the default is right",
};

/** Variables that are not ours and yet mean something to a process of ours. */
const FOREIGN = new Set(["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS"]);

/** What stands for a value that the manifests do not say, where the setting has a form. */
const EXAMPLES: Readonly<Record<string, string>> = {
  DATABASE_URL: "postgres://rcpt:password@postgres.example.com/rcpt",
  REDIS_URL: "rediss://:password@redis.example.com:6379",
  SECRETS_KEY: "0123456789abcdef".repeat(4),
  S3_ACCESS_KEY_ID: "key",
  S3_SECRET_ACCESS_KEY: "secret",
  SMTP_OUT_URL: "smtp://user:password@mail.example.com:587",
  SMTP_PROXIES: "socks5://user:password@10.20.0.9:1080",
  EGRESS_ID: "node-1",
  STRIPE_SECRET_KEY: "sk_live_123456",
  STRIPE_WEBHOOK_SECRET: "whsec_123456",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=token",
};

const known = new Set<string>(SETTING_NAMES);

/** The setting that a variable gives, itself or as a file; null: none of ours. */
function settingOf(variable: string): string | null {
  if (known.has(variable)) return variable;
  const name = variable.endsWith("_FILE") ? variable.slice(0, -"_FILE".length) : "";
  return known.has(name) ? name : null;
}

/** The environment as the process would see it, its files inline. */
export function asRead({ values, given, files }: Environment): { env: NodeJS.ProcessEnv; missing: string[] } {
  const env: NodeJS.ProcessEnv = {};
  const missing: string[] = [];
  const example = (name: string) => {
    const value = EXAMPLES[name];
    if (value === undefined)
      missing.push(`no example says what ${name} looks like (scripts/manifests/checks/settings.ts)`);
    return value ?? "";
  };
  for (const name of given) env[name] = example(name);
  for (const [name, value] of values) {
    const expanded = value.replaceAll(/\$\((\w+)\)/g, (_, other: string) => example(other));
    if (known.has(name) || !name.endsWith("_FILE")) env[name] = expanded;
    else {
      const content = files.get(value);
      if (content === undefined) missing.push(`${name} is ${value}, which no ConfigMap puts there`);
      else env[name.slice(0, -"_FILE".length)] = content;
    }
  }
  return { env, missing };
}

function checkEnvironment(environment: Environment): string[] {
  const names = [...environment.values.keys(), ...environment.given];
  const strange = names.filter((name) => settingOf(name) === null && !FOREIGN.has(name));
  const { env, missing } = asRead(environment);
  const found = [...strange.map((name) => `${name} is no setting (src/config/settings.ts)`), ...missing];
  const why = whyNot(env);
  if (why !== null) found.push(`would not start: ${why}`);
  // A key that need not be in its Secret: the pod is made without it, and is to start.
  const less = Object.fromEntries(Object.entries(env).filter(([name]) => !environment.optional.has(name)));
  const whyLess = why === null ? whyNot(less) : null;
  if (whyLess !== null) found.push(`would not start without what is said to be optional: ${whyLess}`);
  return found;
}

/** Why a process of this environment would not start; null: it would. */
function whyNot(env: NodeJS.ProcessEnv): string | null {
  try {
    loadConfig(env);
    return null;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}

/** Ports that a container declares under the names that others use are those that the process listens on. */
function checkPorts(
  { values }: Environment,
  ports: readonly { name?: string; containerPort: number }[],
): string[] {
  const listened: Record<string, number> = {
    http: Number(values.get("PORT") ?? 8080),
    metrics: Number(values.get("METRICS_PORT") ?? 9090),
  };
  return ports
    .filter(
      ({ name = "", containerPort }) => listened[name] !== undefined && listened[name] !== containerPort,
    )
    .map(
      ({ name, containerPort }) =>
        `has port ${name} at ${containerPort}, and listens on ${listened[name ?? ""]}`,
    );
}

/** Every variable of our containers is a setting, and together they are a configuration that starts. */
export function checkSettings(documents: readonly Document[]): Finding[] {
  const containers = ownContainers(documents, workloadsOf(documents));
  return containers.flatMap(({ workload, container, environment }) =>
    [...checkEnvironment(environment), ...checkPorts(environment, container.ports ?? [])].map((text) => ({
      where: workload.name,
      text,
    })),
  );
}

/** Settings that the manifests set, as themselves or as files. */
export function settingsSet(documents: readonly Document[]): Set<string> {
  const containers = ownContainers(documents, workloadsOf(documents));
  const names = containers.flatMap(({ environment: { values, given } }) => [...values.keys(), ...given]);
  return new Set(names.flatMap((name) => settingOf(name) ?? []));
}

/** The other way round: what no manifest sets is in `NOT_SET`, and nothing else is. @param set over all builds */
export function checkAllSettings(set: ReadonlySet<string>): Finding[] {
  const where = "settings";
  return [
    ...SETTING_NAMES.filter((name) => !set.has(name) && NOT_SET[name] === undefined).map((name) => ({
      where,
      text: `${name}: no manifest sets it, and NOT_SET says nothing of it`,
    })),
    ...Object.keys(NOT_SET)
      .filter((name) => set.has(name) || !known.has(name))
      .map((name) => ({
        where,
        text: `${name}: is in NOT_SET, and ${set.has(name) ? "a manifest sets it" : "no setting"}`,
      })),
  ];
}

/** ConfigMaps and Secrets whose keys become variables, and nobody reads. */
export function unreadConfigs(documents: readonly Document[]): Finding[] {
  const text = JSON.stringify(workloadsOf(documents).map(({ pod }) => pod));
  return ofKind(documents, "ConfigMap")
    .filter(
      ({ metadata: { name, labels } }) =>
        labels?.grafana_dashboard === undefined && !text.includes(`"${name}"`),
    )
    .map(({ metadata: { name } }) => ({ where: `ConfigMap/${name}`, text: "nothing reads it" }));
}
