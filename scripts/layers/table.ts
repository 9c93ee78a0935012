/** Layers that a layer may import besides itself. "all": it is a composition root. */
interface Layer {
  may: readonly string[] | "all";
}

const BELOW_FEATURES = ["engine", "verification", "egress", "smtp", "dns", "stores", "platform", "config"];

/** The table of ARCHITECTURE.md. Imports point down only; features may import one another, but in no circle. */
export const LAYERS: Record<string, Layer> = {
  config: { may: [] },
  platform: { may: ["config"] },
  stores: { may: ["platform", "config"] },
  dns: { may: ["platform", "config"] },
  smtp: { may: ["platform", "config"] },
  verification: { may: ["smtp", "dns", "platform", "config"] },
  egress: { may: ["verification", "smtp", "dns", "stores", "platform", "config"] },
  engine: { may: ["verification", "egress", "smtp", "dns", "stores", "platform", "config"] },
  features: { may: BELOW_FEATURES },
  api: { may: ["features", "verification", "platform", "config"] },
  /** The thread for large requests. */
  requests: { may: ["api", "features", "platform", "config"] },
  /** The check thread. */
  workers: { may: ["engine", "verification", "egress", "smtp", "dns", "platform", "config"] },
  root: { may: "all" },
  /** The library for programs: of the service it knows the API alone. */
  client: { may: [] },
};

const ROOT_FILES = /^src\/(main|supervisor)\.ts$|^src\/(app|operator|cli)\//;

/** The layer of a path relative to the project; null: it belongs to no layer. */
export function layerOf(path: string): string | null {
  if (path === "workers/request.ts") return "requests";
  if (path.startsWith("workers/")) return "workers";
  if (ROOT_FILES.test(path)) return "root";
  if (path.startsWith("packages/client/src/")) return "client";
  return /^src\/([a-z]+)\//.exec(path)?.[1] ?? null;
}

/** The feature that a file belongs to, as `features/bulk`; null outside of features. */
export function featureOf(path: string): string | null {
  return /^src\/(features\/[a-z-]+)\//.exec(path)?.[1] ?? null;
}

export const UWS = { specifier: "uWebSockets.js", only: "src/api/server/server.ts" };
export const ENVIRONMENT_READER = "src/config/config.ts";
/** Words that meant something in this project alone, for admission, checks in flight, credentials and probes. */
export const PRIVATE_WORDS =
  /\b(?:(?:crowder|elder|seat|passenger|tower|teller|tour|usual(?: |\n \* )way)s?|alight(?:s|ed|ing)?|at(?: |\n \* )length)\b/g;
export const FILE_LINES_MAX = 400;
/** Lines of a function with those of the functions inside it. */
export const FUNCTION_LINES_MAX = 70;
export const FOLDER_FILES_MIN = 3;
export const FOLDER_FILES_MAX = 25;
