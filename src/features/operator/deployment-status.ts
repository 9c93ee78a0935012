import { AppError } from "../../platform/errors.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import type { Actor } from "../identity/actor.ts";
import { findTeam } from "../identity/team-sql.ts";
import type { EgressStatus } from "./egress-status.ts";
import type { PipelineStatus } from "./pipeline-status.ts";

export interface DeploymentStatus {
  version: string;
  node: string;
  egress: EgressStatus;
  /** null: Redis or Postgres did not tell. */
  pipeline: PipelineStatus | null;
}

export interface ReadDeploymentStatusDeps {
  sql: Database;
  readProcess(): Omit<DeploymentStatus, "pipeline">;
  countPipeline(): Promise<PipelineStatus>;
  /** The pipeline could not be counted. */
  onError(error: unknown): void;
}

/** @throws AppError `insufficient_role` unless the team runs the deployment */
export type ReadDeploymentStatus = (actor: Actor) => Promise<DeploymentStatus>;

/** The state of the deployment, for those who run it. Changes nothing. */
export function createReadDeploymentStatus(deps: ReadDeploymentStatusDeps): ReadDeploymentStatus {
  const { sql, countPipeline, readProcess, onError } = deps;
  return async ({ teamId }) => {
    const team = await findTeam(sql, teamId);
    if (team?.operator !== true)
      throw new AppError(
        "insufficient_role",
        "Only the team that runs the deployment reads its state (`npm run team -- set-operator`).",
      );
    const pipeline = await countPipeline().catch((error: unknown) => {
      onError(error);
      return null;
    });
    return { ...readProcess(), pipeline };
  };
}
