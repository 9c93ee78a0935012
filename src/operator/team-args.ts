import { LIMITS } from "../config/limits/limits.ts";
import { TIER_LIMITS, type Tier, type TierLimits } from "../config/tiers.ts";
import { readEmail } from "../features/identity/email-address.ts";
import type { LimitChange } from "../features/teams/operations.ts";
import type { S3Grant } from "../stores/objects/s3-grants.ts";
import { parseCommandLine, parseTier, UsageError } from "./command.ts";

/** The arguments of `npm run team`. */
export type TeamCommand =
  | { verb: "list" }
  | { verb: "show"; team: string }
  | { verb: "set-tier"; team: string; tier: Tier }
  | { verb: "set-limit"; team: string; change: LimitChange }
  | { verb: "set-operator"; team: string; operator: boolean }
  | { verb: "grant-s3" | "revoke-s3"; team: string; grant: S3Grant }
  | { verb: "reset-link"; email: string };

const FORMS = {
  list: "list",
  show: "show TEAM",
  "set-tier": "set-tier TEAM TIER",
  "set-limit": "set-limit TEAM NAME VALUE|default",
  "set-operator": "set-operator TEAM true|false",
  "grant-s3": "grant-s3 TEAM s3://BUCKET/PREFIX/",
  "revoke-s3": "revoke-s3 TEAM s3://BUCKET/PREFIX/",
  "reset-link": "reset-link ADDRESS",
} as const;
type Verb = keyof typeof FORMS;

const USAGE = `usage: npm run team -- ${Object.values(FORMS).join(" | ")} [--json]; TEAM is an id or an owner's address`;

const OPTIONS = { json: { type: "boolean", default: false } } as const;

/** Whole numbers from, to; or a switch. */
const BOUNDS: Record<keyof TierLimits, readonly [number, number] | "switch"> = {
  dailyQuota: [0, 10_000_000_000],
  ratePerS: [1, 100_000],
  rateBurst: [1, 1_000_000],
  readsPerS: [1, 100_000],
  readsBurst: [1, 1_000_000],
  writesPerS: [1, 100_000],
  writesBurst: [1, 1_000_000],
  bulkBytes: [0, 5_000_000_000_000],
  historyDays: [1, 365],
  refresh: "switch",
  webhooks: "switch",
  probing: "switch",
};

/** `daily_quota` for `dailyQuota`: limits are named as fields of the API are. */
export function limitLabel(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function parseSwitch(label: string, text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new UsageError(`${label} must be true or false`);
}

function parseValue(label: string, bounds: readonly [number, number] | "switch", text: string) {
  if (text === "default") return null;
  if (bounds === "switch") {
    if (text === "true" || text === "false") return text === "true";
    throw new UsageError(`${label} must be true, false or default`);
  }
  const [min, max] = bounds;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${label} must be a whole number from ${min} to ${max}, or default`);
}

function parseLimit(label: string, text: string): LimitChange {
  const names = Object.keys(TIER_LIMITS.free) as (keyof TierLimits)[];
  const name = names.find((known) => limitLabel(known) === label);
  if (!name) throw new UsageError(`NAME must be one of ${names.map(limitLabel).join(", ")}`);
  // The bounds of the name say which type its value has.
  return { name, value: parseValue(label, BOUNDS[name], text) } as LimitChange;
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX_BYTES_MAX = 1_024;

/** A prefix is a folder: without its slash `s3://b/acme` would open `s3://b/acme-archive/` too. */
function parseGrant(text: string): S3Grant {
  const [, bucket = "", path = ""] = /^s3:\/\/([^/]+)\/?(.*)$/s.exec(text) ?? [];
  if (!BUCKET.test(bucket)) throw new UsageError("what is granted must be s3://BUCKET/PREFIX/");
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  if (/[\p{Cc}\p{Cs}]/u.test(prefix) || Buffer.byteLength(prefix) > PREFIX_BYTES_MAX)
    throw new UsageError(
      `PREFIX must be at most ${PREFIX_BYTES_MAX} bytes of UTF-8 without control characters`,
    );
  return { bucket, prefix };
}

function isVerb(text: string): text is Verb {
  return Object.hasOwn(FORMS, text);
}

function parseTeam(text: string): string {
  if (text.trim() === "" || text.length > LIMITS.http.emailBytes || /\p{Cc}/u.test(text))
    throw new UsageError("TEAM must be a team's id or an owner's address");
  return text;
}

/** @throws UsageError one line that names the fault */
export function parseTeamArgs(argv: string[]): { command: TeamCommand; json: boolean } {
  const { values, positionals } = parseCommandLine(
    { args: argv, options: OPTIONS, allowPositionals: true },
    USAGE,
  );
  const [verb = "", team = "", ...rest] = positionals;
  if (!isVerb(verb)) throw new UsageError(USAGE);
  if (positionals.length !== FORMS[verb].split(" ").length)
    throw new UsageError(`usage: npm run team -- ${FORMS[verb]} [--json]`);
  return { command: commandOf(verb, team, rest), json: values.json };
}

function parseEmail(text: string): string {
  const email = readEmail(text);
  if (email === null) throw new UsageError("ADDRESS must be an email address");
  return email;
}

function commandOf(verb: Verb, text: string, [first = "", second = ""]: string[]): TeamCommand {
  if (verb === "list") return { verb };
  if (verb === "reset-link") return { verb, email: parseEmail(text) };
  const team = parseTeam(text);
  if (verb === "show") return { verb, team };
  if (verb === "set-tier") return { verb, team, tier: parseTier("TIER", first) };
  if (verb === "set-limit") return { verb, team, change: parseLimit(first, second) };
  if (verb === "set-operator") return { verb, team, operator: parseSwitch("set-operator", first) };
  return { verb, team, grant: parseGrant(first) };
}
