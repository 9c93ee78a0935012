import { createRoutes, type RouteDeps } from "../../src/api/routing/routes.ts";

const unused = () => {
  throw new Error("no handler runs here");
};
/** Any verb of any service: it is there, and fails when it is called. */
const service: unknown = new Proxy(unused, { get: () => unused });

/** The service's route table with services that must not be called, to generate files from the descriptions of its routes. */
export function describedRoutes(publicUrl: string | null) {
  const deps = new Proxy({} as RouteDeps, {
    get: (_, name) => (name === "publicUrl" ? publicUrl : service),
  });
  return createRoutes(deps);
}
