import type * as v from "valibot";
import type { ChecksSchema, PreflightSchema, SettingsSchema } from "./settings.ts";

export type Settings = v.InferOutput<typeof SettingsSchema>;
export type PreflightSettings = v.InferOutput<typeof PreflightSchema>;
export type ChecksSettings = v.InferOutput<typeof ChecksSchema>;

/** Settings that are valid alone and wrong together. */
export interface SettingConflict {
  /** The variable to change. */
  setting: string;
  message: string;
  /** Settings to remove so that the rest is valid. */
  without: readonly string[];
}

export function findProbingConflicts(s: PreflightSettings): SettingConflict[] {
  if (s.SMTP_PORT === 25 || s.PROBE_PRIVATE_ADDRESSES) return [];
  const message =
    "mail exchangers answer on port 25; another one needs PROBE_PRIVATE_ADDRESSES=true (tests, demo)";
  return [{ setting: "SMTP_PORT", message, without: ["SMTP_PORT"] }];
}

/** All conflicts, in the order in which they are reported. */
export function findConflicts(s: Settings): SettingConflict[] {
  return [
    ...findProbingConflicts(s),
    ...halfPair(s, "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"),
    ...objectConflicts(s),
    ...servingConflicts(s),
    ...halfPair(s, "STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"),
    ...priceConflicts(s),
    ...mailConflicts(s),
  ];
}

function halfPair(s: Settings, one: keyof Settings, other: keyof Settings): SettingConflict[] {
  if ((s[one] === undefined) === (s[other] === undefined)) return [];
  const setting = s[one] === undefined ? one : other;
  return [{ setting, message: "is required when its counterpart is set", without: [one, other] }];
}

function objectConflicts(s: Settings): SettingConflict[] {
  if (s.S3_ENDPOINT === undefined || s.S3_BUCKET !== undefined) return [];
  const message = "is required when S3_ENDPOINT is set";
  return [{ setting: "S3_BUCKET", message, without: ["S3_ENDPOINT"] }];
}

function servingConflicts(s: Settings): SettingConflict[] {
  const found: SettingConflict[] = [];
  if (s.DRAIN_DELAY_MS * 2 > s.SHUTDOWN_GRACE_MS)
    found.push({
      setting: "DRAIN_DELAY_MS",
      message: "must be at most half of SHUTDOWN_GRACE_MS, which includes it",
      without: ["DRAIN_DELAY_MS", "SHUTDOWN_GRACE_MS"],
    });
  if (s.PORT !== 0 && s.PORT === s.METRICS_PORT)
    found.push({
      setting: "METRICS_PORT",
      message: "must differ from PORT",
      without: ["METRICS_PORT", "PORT"],
    });
  return found;
}

function priceConflicts(s: Settings): SettingConflict[] {
  const prices = Object.entries(s).filter(
    ([name, id]) => name.startsWith("STRIPE_PRICE_") && id !== undefined,
  );
  if (new Set(prices.map(([, id]) => id)).size === prices.length) return [];
  return [
    {
      setting: "STRIPE_PRICE_…",
      message: "two tiers or intervals have the same price id",
      without: prices.map(([name]) => name),
    },
  ];
}

function mailConflicts(s: Settings): SettingConflict[] {
  if (s.SMTP_OUT_URL === undefined) return [];
  const needed: [keyof Settings, string][] = [
    ["SMTP_OUT_FROM", "is required when SMTP_OUT_URL is set"],
    ["SECRETS_KEY", "is required when SMTP_OUT_URL is set: mails that wait are encrypted"],
    ["PUBLIC_URL", "is required when SMTP_OUT_URL is set: the links of mails lead there"],
  ];
  return needed
    .filter(([setting]) => s[setting] === undefined)
    .map(([setting, message]) => ({ setting, message, without: ["SMTP_OUT_URL"] }));
}
