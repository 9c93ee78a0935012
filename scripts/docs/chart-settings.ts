import { GIVEN_SECRETS } from "../manifests/checks/sources.ts";
import { SECTIONS } from "./setting-descriptions.ts";

/** Settings that the chart's `settings` refuse: secrets do not belong into a ConfigMap, the others follow from the pods. */
const SECRETS = GIVEN_SECRETS.get("rcpt-secrets") ?? new Set<string>();
const OF_PODS = new Set([
  ...["ROLE", "PORT", "METRICS_HOST", "METRICS_PORT", "SHAPING_FILE", "SHUTDOWN_GRACE_MS"],
  // Variables of a container, which win over the ConfigMap: `api.env`, `bulk.env`.
  ...["DRAIN_DELAY_MS", "CHECK_THREADS", "CACHE_ENTRIES", "SCRATCH_DIR"],
]);

/** Renders k8s/chart/values.schema.json, with a property for each setting. @param schema the file's present content */
export function renderChartSchema(schema: string): string {
  const content = JSON.parse(schema) as { properties: { settings: { properties: object } } };
  content.properties.settings.properties = Object.fromEntries(
    Object.values(SECTIONS)
      .flatMap((settings) => Object.entries(settings))
      .filter(([name]) => !SECRETS.has(name) && !OF_PODS.has(name))
      .map(([name, { does }]) => [name, { type: ["string", "number", "boolean"], description: does }]),
  );
  return `${JSON.stringify(content, null, 2)}\n`;
}
