import { createRoutes, type RouteDeps } from "../../src/api/routing/routes.ts";

const unused = () => {
  throw new Error("no handler runs here");
};
/** Any verb of any service: it is there, and fails when it is called. */
const service: unknown = new Proxy(unused, { get: () => unused });

/** The route table that the service runs on, over services that must not be called: for what is made from its description. */
export function describedRoutes(publicUrl: string | null) {
  const texts: Record<string, string | null> = { publicUrl, objectsOrigin: null };
  const deps = new Proxy({} as RouteDeps, {
    get: (_, name) => (Object.hasOwn(texts, name) ? texts[String(name)] : service),
  });
  return createRoutes(deps);
}
