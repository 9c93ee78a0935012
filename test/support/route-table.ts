import { describedRoutes } from "../../scripts/build/described-routes.ts";
import { type IdPrefix, newId } from "../../src/platform/ids.ts";

/** The service's route table, over services that must not be called. */
export const routes = describedRoutes("https://api.example.com");

/** `POST /v1/keys` */
export const operationOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

/** The path with `value(name)` for each `{name}`, as it stands. */
export const fillPath = (path: string, value: (name: string) => string) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => value(name));

/**
 * Kind of each id in a path, by the segment before it: an id of another kind refers to nothing, and no statement runs.
 */
const KINDS: Record<string, IdPrefix> = {
  "bulk-jobs": "job",
  keys: "key",
  members: "usr",
  invites: "inv",
  webhooks: "wh",
  deliveries: "dlv",
  uploads: "upl",
};

/** A value for `{name}` of the path: of the form that the route looks up, and of no object. */
export function unusedId(path: string, name: string): string {
  if (name === "domain") return "blocked.example";
  const segments = path.split("/");
  const kind = KINDS[segments[segments.indexOf(`{${name}}`) - 1] ?? ""];
  if (kind !== undefined) return newId(kind);
  if (path.startsWith("/v1/")) throw new Error(`whose id is {${name}} of ${path}?`);
  // A page of the portal or of the documents.
  return "x";
}
