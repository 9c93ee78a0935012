import type { VerifyAddress } from "../services/verify-address.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { createOpenApiDocument } from "./openapi.ts";
import type { Route } from "./route.ts";
import { createHealthRoute, createOpenApiRoute, createReadinessRoute } from "./routes/operations.ts";
import { createVerifyRoute } from "./routes/verify.ts";
import type { Readiness } from "./schemas.ts";

export interface RouteDeps {
  verify: VerifyAddress;
  readiness(): MaybePromise<Readiness>;
  /** The base address of the API for its own description; null: wherever the document was read from. */
  publicUrl: string | null;
}

/** Every route of the API: what the server runs on and what `/openapi.json` describes. */
export function createRoutes(deps: RouteDeps): Route[] {
  const routes: Route[] = [
    createVerifyRoute(deps.verify),
    createHealthRoute(),
    createReadinessRoute(() => deps.readiness()),
    createOpenApiRoute(() => JSON.stringify(createOpenApiDocument(routes, deps.publicUrl))),
  ];
  return routes;
}
