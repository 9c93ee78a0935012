/** What a layer may import besides itself; `types` by `import type` only. "all": it is a composition root. */
interface Layer {
  may: readonly string[] | "all";
  types?: readonly string[];
}

/** The table of ARCHITECTURE.md. Imports point down only, and never sideways between http, bulk and relay. */
export const LAYERS: Record<string, Layer> = {
  core: { may: [] },
  dns: { may: ["core"] },
  smtp: { may: ["core"] },
  check: { may: ["core", "dns", "smtp"] },
  store: { may: ["core"], types: ["check"] },
  services: { may: ["core", "store", "check"] },
  http: { may: ["core", "services"] },
  bulk: { may: ["core", "store", "services", "check"] },
  relay: { may: ["core", "store", "services", "check"] },
  /** The thread that puts results together, of workers of jobs alone. */
  joins: { may: ["core", "store", "services", "bulk"] },
  /** The thread of large requests. */
  requests: { may: ["core", "http", "services"] },
  workers: { may: ["core", "dns", "smtp", "check"] },
  root: { may: "all" },
};

const ROOT_FILES = /^src\/(main|compose|supervisor)\.ts$|^src\/(compose|operator)\//;

/** The layer of a path relative to the project, null when it belongs to none. */
export function layerOf(path: string): string | null {
  if (path === "workers/join.ts") return "joins";
  if (path === "workers/request.ts") return "requests";
  if (path.startsWith("workers/")) return "workers";
  if (ROOT_FILES.test(path)) return "root";
  return /^src\/([a-z]+)\//.exec(path)?.[1] ?? null;
}

export const UWS = { specifier: "uWebSockets.js", only: "src/api/server/server.ts" };
export const ENVIRONMENT_READER = "src/config/config.ts";
export const FILE_LINES_MAX = 400;
/** Lines of a function with those of the functions inside it. */
export const FUNCTION_LINES_MAX = 70;
export const FOLDER_FILES_MIN = 3;
export const FOLDER_FILES_MAX = 25;
