import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../log.ts";

/** For a round of work over many teams. */
export interface TeamGuard {
  /**
   * Does the work of one team. An error is logged and does not keep the next team from its turn, until
   * LIMITS.relay.teamFailures have failed: then the teams are not the cause, and this rejects with the last one's error.
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
