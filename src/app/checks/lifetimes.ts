import { ConfigError } from "../../config/config.ts";
import { type Reason, VERDICT_ROWS } from "../../verification/verdict/table.ts";

const REASONS: ReadonlySet<string> = new Set(Object.values(VERDICT_ROWS).map((row) => row.reason));

function isReason(text: string): text is Reason {
  return REASONS.has(text);
}

/** The setting CACHE_LIFETIMES against the reasons there are. @throws ConfigError that names an unknown one */
export function readLifetimes(setting: ReadonlyMap<string, number>): Partial<Record<Reason, number>> {
  const lifetimesS: Partial<Record<Reason, number>> = {};
  for (const [reason, seconds] of setting) {
    if (!isReason(reason)) throw new ConfigError(`CACHE_LIFETIMES: there is no reason ${reason}`);
    lifetimesS[reason] = seconds;
  }
  return lifetimesS;
}
