import type { OperatorShaping } from "../check/shaping.ts";
import { parseOperatorShaping } from "../check/shaping-file.ts";
import type { Config } from "../core/config.ts";
import { configuredRouteNames } from "../smtp/egress-routes.ts";

const NOTHING: OperatorShaping = { default: {}, providers: {}, sites: {} };

/** The setting SHAPING against the ways that the other settings make. @throws ConfigError that names the wrong entry */
export function ownShaping({ shaping, smtp }: Pick<Config, "shaping" | "smtp">): OperatorShaping {
  return shaping === null
    ? NOTHING
    : parseOperatorShaping(shaping.json, shaping.setting, configuredRouteNames(smtp));
}
