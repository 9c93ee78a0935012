import { describedRoutes } from "../../scripts/build/described-routes.ts";

/** The route table that the service runs on, over services that must not be called. */
export const routes = describedRoutes("https://api.example.com");
