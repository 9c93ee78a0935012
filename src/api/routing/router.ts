import { AppError } from "../../platform/errors.ts";
import { HttpReply } from "../reply/reply.ts";
import type { PublicRoute, Route } from "./route.ts";

export interface Match {
  route: Route;
  /** Decoded path parameters; null for a path without parameters. */
  params: Record<string, string> | null;
}

export interface Router {
  /** Routes of paths without parameters, under their own method: the server itself may look those up. */
  readonly fixed: readonly Match[];
  /**
   * The route of a method and a raw path. HEAD finds the GET route, unless that route charges: a client must not pay for a
   * body that is thrown away. OPTIONS is answered for every known path.
   * @throws AppError `not_found`; `method_not_allowed` with `Allow`; `bad_request` for a malformed path
   */
  match(method: string, path: string): Match;
}

/** One path and everything that can be done with it. */
interface Resource {
  segments: string[];
  byMethod: Map<string, Match>;
  allow: string;
}

function optionsRoute(path: string, allow: string): PublicRoute {
  const reply = new HttpReply(204, null, { headers: { Allow: allow } });
  return {
    method: "GET",
    path,
    operationId: "options",
    summary: "Allowed methods",
    tag: "operations",
    rate: "none",
    errors: [],
    success: { status: 204, description: "Allowed methods", schema: null },
    access: "public",
    invoke: () => reply,
  };
}

function createResource(path: string, routes: Route[]): Resource {
  const byMethod = new Map<string, Match>();
  for (const route of routes) {
    if (byMethod.has(route.method)) throw new Error(`two routes for ${route.method} ${path}`);
    byMethod.set(route.method, { route, params: null });
  }
  const get = byMethod.get("GET");
  if (get && get.route.rate !== "verify") byMethod.set("HEAD", get);
  const allow = [...byMethod.keys(), "OPTIONS"].sort().join(", ");
  byMethod.set("OPTIONS", { route: optionsRoute(path, allow), params: null });
  return { segments: path.split("/"), byMethod, allow };
}

const isParameter = (segment: string) => segment.startsWith("{");

function fits(resource: Resource, segments: string[]): boolean {
  return resource.segments.every((own, i) => (isParameter(own) ? segments[i] !== "" : own === segments[i]));
}

function readParams(resource: Resource, segments: string[]): Record<string, string> {
  const params: Record<string, string> = Object.create(null);
  for (const [i, own] of resource.segments.entries()) {
    if (!isParameter(own)) continue;
    try {
      params[own.slice(1, -1)] = decodeURIComponent(segments[i] ?? "");
    } catch {
      throw new AppError("bad_request", "The path has a malformed percent-encoding or is not UTF-8.");
    }
  }
  return params;
}

function select(resource: Resource, method: string): Match {
  const match = resource.byMethod.get(method);
  if (match) return match;
  throw new AppError("method_not_allowed", `This path allows ${resource.allow}.`, {
    headers: { Allow: resource.allow },
  });
}

/** Builds the look-up once: a hash look-up for fixed paths, a comparison by segments for those with parameters. */
export function createRouter(routes: readonly Route[]): Router {
  const fixed = new Map<string, Resource>();
  const templated: Resource[] = [];
  for (const path of new Set(routes.map((route) => route.path))) {
    const resource = createResource(
      path,
      routes.filter((route) => route.path === path),
    );
    if (resource.segments.some(isParameter)) templated.push(resource);
    else fixed.set(path, resource);
  }

  const fixedMatches = [...fixed.values()].flatMap(({ byMethod }) =>
    [...byMethod].flatMap(([method, match]) => (match.route.method === method ? [match] : [])),
  );

  return {
    fixed: fixedMatches,
    match(method, path) {
      const known = fixed.get(path);
      if (known) return select(known, method);
      const segments = path.split("/");
      const resource = templated.find((r) => r.segments.length === segments.length && fits(r, segments));
      if (!resource) throw new AppError("not_found", "There is nothing at this path.");
      const { route } = select(resource, method);
      return { route, params: readParams(resource, segments) };
    },
  };
}
