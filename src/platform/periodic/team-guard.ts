import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../log.ts";

/** For a round of work over many teams. */
export interface TeamGuard {
  /**
   * Does the work of one team. What it rejects with is logged and keeps nobody from the next team, until
   * LIMITS.relay.teamFailures have failed: then it is not the teams, and this rejects with the last one's error.
   */
  run(teamId: string, work: () => Promise<void>): Promise<void>;
  /** How many teams failed. */
  readonly failures: number;
}

/** @param what has failed, for the log */
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
