import type { OwnShaping } from "../check/shaping.ts";
import { parseOwnShaping } from "../check/shaping-file.ts";
import type { Config } from "../core/config.ts";
import { wayNames } from "../smtp/path.ts";

const NOTHING: OwnShaping = { default: {}, providers: {}, sites: {} };

/** The setting SHAPING against the ways that the other settings make. @throws ConfigError that names the wrong entry */
export function ownShaping({ shaping, smtp }: Pick<Config, "shaping" | "smtp">): OwnShaping {
  return shaping === null ? NOTHING : parseOwnShaping(shaping.json, shaping.setting, wayNames(smtp));
}
