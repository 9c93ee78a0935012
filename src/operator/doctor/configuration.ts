import { isIP } from "node:net";
import { readLifetimes } from "../../app/checks/lifetimes.ts";
import { ownShaping } from "../../app/checks/shaping.ts";
import { type Config, type ConfigDiagnosis, SETTING_NAMES } from "../../config/config.ts";
import { isPublicAddress } from "../../platform/public-address.ts";
import { type DoctorFinding, type DoctorGroup, errorLine, fail, ok, warn } from "./finding.ts";
import { nearMisses } from "./near-miss.ts";
import { concerns } from "./roles.ts";

/** A host that clients elsewhere on the internet cannot reach: loopback, private, or known only inside a network. */
export function isLocalHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return !host.includes(".") || /\.(local|localhost|internal|svc|lan|home|test)$/.test(`.${host}`);
}

const hostOf = (url: string) => new URL(url).hostname;
const isPublicUrl = (url: string | null) => url !== null && !isLocalHost(hostOf(url));

/** Wrong settings, and probable mistakes. Pure. */
export function judgeConfiguration(diagnosis: ConfigDiagnosis): DoctorFinding[] {
  const wrong = [...judgeProblems(diagnosis), ...judgeAgainstTables(diagnosis.config)];
  const names = judgeNames(diagnosis);
  const read = `${diagnosis.given.size} of ${SETTING_NAMES.length} settings are given; the others have their defaults.`;
  return [
    ...(wrong.length === 0 ? [ok("settings", read)] : wrong),
    ...(names.length === 0 ? [ok("names", "No variable looks like a misspelt setting.")] : names),
    ...judgeAddresses(diagnosis.config),
    ...judgeEnding(diagnosis),
    ...judgeServing(diagnosis),
    ...judgeProbing(diagnosis),
  ];
}

function judgeProblems({ problems }: ConfigDiagnosis): DoctorFinding[] {
  return problems.map(({ setting, message, isServiceLink }) =>
    fail(
      setting,
      `${setting} ${message}.`,
      isServiceLink
        ? "Kubernetes put it there for a Service of that name: set enableServiceLinks: false in the pod."
        : `Set ${setting} (docs/configuration.md has its form); the process does not start until then.`,
    ),
  );
}

/** Errors that only show against the program's tables. */
function judgeAgainstTables(config: Config): DoctorFinding[] {
  const looks: [string, () => unknown][] = [
    ["CACHE_LIFETIMES", () => readLifetimes(config.verify.lifetimesS)],
    ["SHAPING", () => ownShaping(config)],
  ];
  return looks.flatMap(([setting, look]) => {
    try {
      look();
      return [];
    } catch (error) {
      return [fail(setting, `${errorLine(error)}.`, "Mend it; the process does not start until then.")];
    }
  });
}

function judgeNames({ variables, given }: ConfigDiagnosis): DoctorFinding[] {
  return nearMisses(variables, SETTING_NAMES).map(({ variable, meant }) => {
    if (meant === null)
      return warn(variable, `${variable} is no setting: nobody reads it.`, "Take it out, or correct it.");
    const seen = `${variable} is no setting: nobody reads it. ${meant} is one`;
    if (given.has(meant)) return warn(variable, `${seen}, and is given.`, `Take ${variable} out.`);
    return fail(variable, `${seen}, and is not set.`, `Rename it to ${meant}, or take it out.`);
  });
}

function judgeAddresses({ http, objects }: Config): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const { publicUrl, trustedProxies } = http;
  if (publicUrl === null)
    found.push(
      warn(
        "PUBLIC_URL",
        "PUBLIC_URL is not set: results have paths instead of URLs, and /openapi.json names no server.",
        "Set it to where users reach the API.",
      ),
    );
  else if (isPublicUrl(publicUrl) && publicUrl.startsWith("http:"))
    found.push(warn("PUBLIC_URL", "PUBLIC_URL is plain http: keys travel in clear.", "Serve it by https."));
  else found.push(ok("PUBLIC_URL", `Users reach the API at ${new URL(publicUrl).origin}.`));
  if (publicUrl?.startsWith("https:") && trustedProxies.length === 0)
    found.push(
      warn(
        "TRUSTED_PROXIES",
        "PUBLIC_URL is https, which something before us speaks, and TRUSTED_PROXIES is not set: all clients have its address, and share the limits of one.",
        "Set it to the networks of your balancers, e.g. 10.0.0.0/8.",
      ),
    );
  if (trustedProxies.some((network) => network.endsWith("/0")))
    found.push(
      warn(
        "TRUSTED_PROXIES",
        "TRUSTED_PROXIES has everybody in it: clients choose the address that they are counted by.",
        "Set it to the networks of your balancers alone.",
      ),
    );
  const signed = objects?.publicEndpoint ?? null;
  if (signed !== null && isPublicUrl(publicUrl) && isLocalHost(hostOf(signed)))
    found.push(
      warn(
        "S3_PUBLIC_ENDPOINT",
        `URLs for uploads lead to ${hostOf(signed)}, which clients elsewhere cannot reach.`,
        "Set S3_PUBLIC_ENDPOINT to the address at which clients see the object storage.",
      ),
    );
  return found;
}

/** Judges the shutdown of processes that answer requests: the others hand their work back at once. */
function judgeEnding({ config, variables }: ConfigDiagnosis): DoctorFinding[] {
  if (!concerns(config.role, "requests")) return [];
  const found: DoctorFinding[] = [];
  const { shutdownGraceMs, drainDelayMs, verify } = config;
  const work = shutdownGraceMs - drainDelayMs;
  if (work < verify.deadlineMs)
    found.push(
      warn(
        "SHUTDOWN_GRACE_MS",
        `After DRAIN_DELAY_MS ${work} ms are left to finish requests, which may take ${verify.deadlineMs} ms (VERIFY_DEADLINE_MS).`,
        `Set SHUTDOWN_GRACE_MS to at least ${drainDelayMs + verify.deadlineMs + 5_000}, and what stops the process to more.`,
      ),
    );
  if (drainDelayMs === 0 && variables.includes("KUBERNETES_SERVICE_HOST"))
    found.push(
      warn(
        "DRAIN_DELAY_MS",
        "DRAIN_DELAY_MS is 0 in Kubernetes: requests still come for a moment after a pod was told to stop.",
        "Set it to 13000, and SHUTDOWN_GRACE_MS to 50000 (docs/kubernetes.md).",
      ),
    );
  return found;
}

function judgeServing({ config }: ConfigDiagnosis): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const { role, logLevel, objects, secretsKey, webhooks } = config;
  if (logLevel === "debug" || logLevel === "trace")
    found.push(
      warn(
        "LOG_LEVEL",
        `LOG_LEVEL=${logLevel} writes much.`,
        "Set it to info, unless you look for something.",
      ),
    );
  if (objects === null)
    found.push(
      warn(
        "S3_BUCKET",
        "S3_BUCKET is not set: there is no bulk verification.",
        "Set it, if there should be.",
      ),
    );
  if (secretsKey === null && concerns(role, "secrets"))
    found.push(
      warn(
        "SECRETS_KEY",
        "SECRETS_KEY is not set: there are no webhooks and no mails.",
        "Set it to 32 random bytes (openssl rand -base64 32), and keep a copy apart from the database's back-ups.",
      ),
    );
  if (webhooks.privateAddresses && isPublicUrl(config.http.publicUrl))
    found.push(
      fail(
        "WEBHOOK_PRIVATE_ADDRESSES",
        "Webhooks may go to addresses of your own network, which your customers choose.",
        "Take WEBHOOK_PRIVATE_ADDRESSES out: it is for tests.",
      ),
    );
  return found;
}

function judgeProbing({ config, variables, given }: ConfigDiagnosis): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const { role, smtp, http } = config;
  if (!concerns(role, "probes")) return found;
  if (smtp.probePrivateAddresses && isPublicUrl(http.publicUrl))
    found.push(
      fail(
        "PROBE_PRIVATE_ADDRESSES",
        "Probes may go to addresses of your own network, which anybody's DNS may name.",
        "Take PROBE_PRIVATE_ADDRESSES out: it is for tests.",
      ),
    );
  if (!smtp.heloNameGiven)
    found.push(
      warn(
        "SMTP_HELO_NAME",
        `SMTP_HELO_NAME is not set, and was made up (${smtp.heloName}): no refusal makes an address invalid.`,
        "Set it to the name that the source address' PTR record gives.",
      ),
    );
  if (!given.has("EGRESS_ID") && variables.includes("KUBERNETES_SERVICE_HOST"))
    found.push(
      warn(
        "EGRESS_ID",
        "EGRESS_ID is not set, hence the pod's name, another one with each pod: rows that were put off wait for pods that are gone, and caps are not shared.",
        "Give all pods that leave by the same addresses one EGRESS_ID.",
      ),
    );
  return found;
}

export const CONFIGURATION_GROUP: DoctorGroup = {
  name: "configuration",
  title: "configuration",
  async examine({ diagnosis }, { note }) {
    note(...judgeConfiguration(diagnosis));
  },
};
