import type { Config } from "../../config/config.ts";
import type { OperatorShaping } from "../../egress/shaping.ts";
import { parseOperatorShaping } from "../../egress/shaping-file.ts";
import { configuredRouteNames } from "../../smtp/wire/egress-routes.ts";

const NOTHING: OperatorShaping = { default: {}, providers: {}, sites: {} };

/**
 * Parses the setting SHAPING against the egress routes of the other settings.
 * @throws ConfigError that names the wrong entry
 */
export function ownShaping({ shaping, smtp }: Pick<Config, "shaping" | "smtp">): OperatorShaping {
  return shaping === null
    ? NOTHING
    : parseOperatorShaping(shaping.json, shaping.setting, configuredRouteNames(smtp));
}
