import { LIMITS } from "../core/limits.ts";
import type { Database, Transaction } from "./postgres.ts";

/** A deleted team whose objects are to be swept now. */
export interface TeamRemoval {
  teamId: string;
  /** Sweeps that left nothing, before this one. */
  sweepsDone: number;
}

/** What a sweep came to: nothing is left; more is; it failed. */
export type SweepOutcome = "clean" | "more" | "failed";

export interface TeamRemovals {
  /** Takes one that is due, for LIMITS.removals.leaseMs; null: none is. Two that ask at once get different ones. */
  take(): Promise<TeamRemoval | null>;
  /** Brings one back: due again at once, later after a failure, or for its last sweep; gone after that one. */
  bringBack(removal: TeamRemoval, outcome: SweepOutcome): Promise<void>;
}

/** One at once, one when all who had not heard of the deletion have ended what they were writing. */
const SWEEPS = 2;

const interval = (ms: number) => `${ms} milliseconds`;

/** Notes, in the transaction that deletes the team, that its objects are to go. */
export async function recordTeamRemoval(tx: Transaction, teamId: string): Promise<void> {
  await tx`insert into team_removals (team_id) values (${teamId})`;
}

export function createTeamRemovals(sql: Database): TeamRemovals {
  const { leaseMs, sweepAgainMs, retryFirstMs, retryMaxMs } = LIMITS.removals;

  async function postpone({ teamId }: TeamRemoval): Promise<void> {
    await sql`
      update team_removals set failures = failures + 1,
        due_at = now() + least(${interval(retryFirstMs)}::interval * 2 ^ least(failures, 20),
                               ${interval(retryMaxMs)}::interval)
      where team_id = ${teamId}`;
  }

  /** The count is set, not raised: two that held the same removal have made one sweep. */
  async function noteSweep({ teamId, sweepsDone }: TeamRemoval): Promise<void> {
    if (sweepsDone + 1 >= SWEEPS) {
      await sql`delete from team_removals where team_id = ${teamId}`;
      return;
    }
    await sql`
      update team_removals set failures = 0, sweeps_done = ${sweepsDone + 1},
        due_at = now() + ${interval(sweepAgainMs)}::interval
      where team_id = ${teamId}`;
  }

  return {
    async take() {
      const [removal] = await sql<TeamRemoval[]>`
        with taken as materialized (
          select ctid from team_removals where due_at <= now()
          order by due_at limit 1 for update skip locked
        )
        update team_removals set due_at = now() + ${interval(leaseMs)}::interval
        where ctid = any (array(select ctid from taken))
        returning team_id as "teamId", sweeps_done as "sweepsDone"`;
      return removal ?? null;
    },

    async bringBack(removal, outcome) {
      if (outcome === "clean") await noteSweep(removal);
      else if (outcome === "failed") await postpone(removal);
      else await sql`update team_removals set failures = 0, due_at = now() where team_id = ${removal.teamId}`;
    },
  };
}
