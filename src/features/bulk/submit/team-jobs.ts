import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import { AppError } from "../../../platform/errors.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { Queryable, TeamTransaction } from "../../../stores/postgres/postgres.ts";
import { type Actor, shareKey } from "../../identity/actor.ts";

type JobOwner = Pick<Actor, "teamId" | "livemode">;

/**
 * Number of a team's jobs in one mode that have not ended, those being submitted included. null when the team is gone.
 * Blocks other submissions until the transaction ends.
 */
export async function lockTeamAndCountJobs(tx: TeamTransaction, owner: JobOwner): Promise<number | null> {
  const team = await tx`select from teams where id = ${owner.teamId} for no key update`;
  return team.length === 0 ? null : countActiveJobs(tx, owner);
}

export async function countActiveJobs(sql: Queryable, { teamId, livemode }: JobOwner): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from jobs
    where team_id = ${teamId} and livemode = ${livemode} and completed_at is null and removed_at is null`;
  return row.count;
}

/** Jobs that a team may keep: in all, and of its test keys. */
export type KeptJobs = Record<"all" | "test", number>;

/** Whether a team has as many jobs as it may keep. Removed ones count until their objects are gone. */
async function isFull(sql: Queryable, { teamId, livemode }: JobOwner, kept: number): Promise<boolean> {
  // Each has an index (`jobs_team`, `jobs_test`): 100,000 jobs take 30 to 40 ms.
  const [row] = await sql<[{ full: boolean }]>`
    select count(*) >= ${kept}::integer as full from (
      select from jobs where team_id = ${teamId} ${livemode ? sql`` : sql`and not livemode`} limit ${kept}) j`;
  return row.full;
}

/** @throws AppError `limit_reached` */
export type CheckKeptJobs = (owner: JobOwner) => Promise<void>;

/**
 * Bounds the jobs that a team keeps: those of test keys, and of malformed rows alone, cost no quota. What was counted is trusted
 * for LIMITS.bulk.keptFreshMs, since a team near the bound would else have all its jobs counted at each submission. So the bound is
 * exceeded by what a team submits in that time.
 */
export function createCheckKeptJobs(
  { sql, clock }: { sql: Queryable; clock: Pick<Clock, "monotonic"> },
  limits: KeptJobs = LIMITS.bulk.keptJobs,
): CheckKeptJobs {
  const { keptFreshMs, keptShares } = LIMITS.bulk;
  const known = new LRUCache<string, { askedMs: number; full: Promise<boolean> }>({ max: keptShares });

  function count(owner: JobOwner, kept: number): Promise<boolean> {
    const share = shareKey(owner);
    const now = clock.monotonic();
    const found = known.get(share);
    if (found !== undefined && now - found.askedMs < keptFreshMs) return found.full;
    const asked = { askedMs: now, full: isFull(sql, owner, kept) };
    known.set(share, asked);
    asked.full.catch(() => {
      if (known.get(share) === asked) known.delete(share);
    });
    return asked.full;
  }

  return async (owner) => {
    const kept = owner.livemode ? limits.all : limits.test;
    if (!(await count(owner, kept))) return;
    const whose = owner.livemode ? "A team" : "The test keys of a team";
    throw new AppError(
      "limit_reached",
      `${whose} may keep ${kept} jobs: delete some, which makes room some minutes later.`,
    );
  };
}
