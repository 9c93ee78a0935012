import { describedRoutes } from "../../scripts/build/described-routes.ts";

/** The service's route table, over services that must not be called. */
export const routes = describedRoutes("https://api.example.com");
