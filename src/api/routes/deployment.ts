import type { ReadDeploymentStatus } from "../../features/operator/deployment-status.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { DeploymentSchema, deploymentExample } from "../schemas/deployment.ts";

/** State of the deployment for the team that runs it: a summary of the metrics port. */
export function createDeploymentRoute(read: ReadDeploymentStatus): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/deployment",
    operationId: "getDeployment",
    summary: "Look at the deployment",
    description:
      "For the team that runs the deployment (`bootstrap --operator`, `team set-operator`): preflight, open breakers and sites " +
      "with fewer connections as the process that answers knows them, and what bulk jobs have before them in all of the " +
      "deployment. Read only; the metrics port has the same as series.",
    tag: "operations",
    role: "admin",
    rate: "read",
    waitsElsewhere: true,
    liveOnly: true,
    errors: [],
    success: {
      status: 200,
      description: "The state",
      schema: DeploymentSchema,
      example: deploymentExample,
    },
    handler: (_input, actor) => read(actor),
  });
}
