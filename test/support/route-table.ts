import { createRoutes, type RouteDeps } from "../../src/api/routing/routes.ts";

const unused = () => {
  throw new Error("no handler runs here");
};
/** Any verb of any service: it is there, and fails when it is called. */
const service: unknown = new Proxy(unused, { get: () => unused });
const deps = new Proxy({} as RouteDeps, {
  get: (_, name) => (name === "publicUrl" ? "https://api.example.com" : service),
});

/** The route table that the service runs on, over services that must not be called. */
export const routes = createRoutes(deps);
