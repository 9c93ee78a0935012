import { LIMITS } from "../../config/limits/limits.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";

/** A deleted team whose objects must be swept now. */
export interface TeamRemoval {
  teamId: string;
  /** Clean sweeps before this one. */
  sweepsDone: number;
}

/** The result of a sweep: nothing is left; more is left; it failed. */
export type SweepOutcome = "clean" | "more" | "failed";

export interface TeamRemovals {
  /** Takes a due removal, for LIMITS.removals.leaseMs; null: none. Concurrent callers get different ones. */
  claimDue(): Promise<TeamRemoval | null>;
  /** Records the sweep: due again at once, later after a failure, or for its last sweep; deleted after that one. */
  recordSweep(removal: TeamRemoval, outcome: SweepOutcome): Promise<void>;
}

/** One at once, one when all processes that did not know of the deletion yet have finished writing. */
const SWEEPS = 2;

/** Records, in the transaction that deletes the team, that its objects must be deleted. */
export async function recordTeamRemoval(tx: Transaction, teamId: string): Promise<void> {
  await tx`insert into team_removals (team_id) values (${teamId})`;
}

export function createTeamRemovals(sql: Database): TeamRemovals {
  const { leaseMs, sweepAgainMs, retryFirstMs, retryMaxMs } = LIMITS.removals;

  async function postpone({ teamId }: TeamRemoval): Promise<void> {
    await sql`
      update team_removals set failures = failures + 1,
        due_at = now() + least(${intervalOf(retryFirstMs)}::interval * 2 ^ least(failures, 20),
                               ${intervalOf(retryMaxMs)}::interval)
      where team_id = ${teamId}`;
  }

  /** The count is set, not raised: two holders of the same removal have made one sweep. */
  async function noteSweep({ teamId, sweepsDone }: TeamRemoval): Promise<void> {
    if (sweepsDone + 1 >= SWEEPS) {
      await sql`delete from team_removals where team_id = ${teamId}`;
      return;
    }
    await sql`
      update team_removals set failures = 0, sweeps_done = ${sweepsDone + 1},
        due_at = now() + ${intervalOf(sweepAgainMs)}::interval
      where team_id = ${teamId}`;
  }

  return {
    async claimDue() {
      const [removal] = await sql<TeamRemoval[]>`
        with taken as materialized (
          select ctid from team_removals where due_at <= now()
          order by due_at limit 1 for update skip locked
        )
        update team_removals set due_at = now() + ${intervalOf(leaseMs)}::interval
        where ctid = any (array(select ctid from taken))
        returning team_id as "teamId", sweeps_done as "sweepsDone"`;
      return removal ?? null;
    },

    async recordSweep(removal, outcome) {
      if (outcome === "clean") await noteSweep(removal);
      else if (outcome === "failed") await postpone(removal);
      else await sql`update team_removals set failures = 0, due_at = now() where team_id = ${removal.teamId}`;
    },
  };
}
