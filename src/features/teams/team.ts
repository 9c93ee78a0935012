import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { AppError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { retryDeadlocks } from "../../stores/postgres/deadlock.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { lockActingMember } from "../auth/acting-member.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { hideActiveJobs } from "../bulk/jobs/job-sql.ts";
import type { Actor, MemberRole } from "../identity/actor.ts";
import { findMember, listMembers, setMemberRole } from "../identity/member-sql.ts";
import { deleteHistory, deleteTeam, findTeam, renameTeam } from "../identity/team-sql.ts";
import { type Member, renderMember, unknownMember } from "./members.ts";
import { recordTeamRemoval } from "./team-removal-sql.ts";

/** A team as its members see it. */
export interface TeamView {
  id: string;
  name: string;
  tier: Tier;
  /** The caller's role. */
  role: MemberRole;
  /** Members in the order of joining. */
  members: Member[];
  created_at: string;
}

export interface Team {
  get(actor: Actor): Promise<TeamView>;
  rename(actor: Actor, name: string): Promise<TeamView>;
  /**
   * Makes another member an owner and the caller an admin, both or neither.
   * @throws AppError `not_found` when the user is not a member; `validation_failed` when it is the caller
   */
  transfer(actor: Actor, userId: string): Promise<TeamView>;
  /**
   * Deletes the team with all its data in the database: its credentials stop here at once, in every other process within a
   * second. The relay deletes the rest (objects, the subscription) soon after. If the deletion fails, the team remains, but
   * its events, their deliveries, its active jobs and the partial results of cancelled ones may be gone; another attempt
   * continues there.
   */
  remove(actor: Actor): Promise<void>;
}

const teamDeleted = () => new AppError("unauthorized", "The team has been deleted.");

export function createTeam(deps: { sql: Database; publisher: ChangePublisher }): Team {
  const { sql, publisher } = deps;

  async function view(actor: Actor, role: MemberRole): Promise<TeamView> {
    const [team, members] = await Promise.all([
      findTeam(sql, actor.teamId),
      listMembers(sql, actor.teamId, LIMITS.team.members),
    ]);
    if (team === null) throw teamDeleted();
    const { id, name, tier, createdAt } = team;
    return { id, name, tier, role, members: members.map(renderMember), created_at: createdAt.toISOString() };
  }

  /** Deletes a large team's history first, in batches: one statement for all of it would time out each time. */
  async function thin(actor: Actor): Promise<void> {
    const { deletionBatch, deletionBatches } = LIMITS.team;
    await retryDeadlocks(LIMITS.team.deletionAttempts, () =>
      sql.begin(async (tx) => {
        await lockActingMember(tx, actor, "owner");
        await hideActiveJobs(tx, actor.teamId);
      }, actor.teamId),
    );
    for (let batch = 0; batch < deletionBatches; batch++) {
      const deleted = await sql.begin(async (tx) => {
        await lockActingMember(tx, actor, "owner");
        return deleteHistory(tx, actor.teamId, deletionBatch);
      }, actor.teamId);
      if (deleted < deletionBatch) return;
    }
  }

  return {
    get: (actor) => view(actor, actor.role),

    async rename(actor, name) {
      const role = await sql.begin(async (tx) => {
        const { role: own } = await lockActingMember(tx, actor, "admin");
        await renameTeam(tx, actor.teamId, name);
        return own;
      }, actor.teamId);
      return view(actor, role);
    },

    async transfer(actor, userId) {
      await publisher.transact(async (tx) => {
        const owner = await lockActingMember(tx, actor, "owner");
        if (userId === owner.userId) throw ownerAlready();
        const heir = isId("usr", userId) ? await findMember(tx, actor.teamId, userId) : null;
        if (heir === null) throw unknownMember();
        await setMemberRole(tx, { teamId: actor.teamId, userId, role: "owner" });
        await setMemberRole(tx, { teamId: actor.teamId, userId: owner.userId, role: "admin" });
      }, actor.teamId);
      return view(actor, "admin");
    },

    async remove(actor) {
      await thin(actor);
      await retryDeadlocks(LIMITS.team.deletionAttempts, () =>
        publisher.transact(async (tx) => {
          await lockActingMember(tx, actor, "owner");
          await recordTeamRemoval(tx, actor.teamId);
          await deleteTeam(tx, actor.teamId, LIMITS.team.deletionTimeoutMs);
        }, actor.teamId),
      );
    },
  };
}

function ownerAlready(): AppError {
  const message = "is your own: you are an owner already";
  return new AppError("validation_failed", `user_id (body) ${message}.`, {
    errors: [{ path: "user_id", message }],
  });
}
