import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../log.ts";

/** Isolates the failures of teams in one run of periodic work. */
export interface TeamGuard {
  /**
   * Does the work of one team. An error is logged and does not stop the work of other teams. After
   * LIMITS.relay.teamFailures errors the teams are not the cause: this rejects with the last error.
   */
  run(teamId: string, work: () => Promise<void>): Promise<void>;
  /** Number of teams whose work failed. */
  readonly failures: number;
}

/** @param what the work that failed, for the log */
export function createTeamGuard(log: Logger, what: string): TeamGuard {
  let failures = 0;
  return {
    async run(teamId, work) {
      try {
        await work();
      } catch (error) {
        failures += 1;
        if (failures >= LIMITS.relay.teamFailures) throw error;
        log.warn({ err: error, team: teamId }, what);
      }
    },
    get failures() {
      return failures;
    },
  };
}
