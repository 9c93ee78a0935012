import { AppError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { Transaction } from "../../stores/postgres/postgres.ts";
import { insufficientRole, lockActingMember } from "../auth/acting-member.ts";
import type { ChangePublisher } from "../auth/publish.ts";
import { type Actor, hasAtLeastRole, type MemberRole } from "../identity/actor.ts";
import {
  countOwners,
  deleteMember,
  findMember,
  type MemberRow,
  setMemberRole,
} from "../identity/member-sql.ts";

/** A member of a team. */
export interface Member {
  /** The user's id. */
  id: string;
  email: string;
  role: MemberRole;
  joined_at: string;
}

/** The members of a team and their roles. Changes are in force here at once, in every other process within a second. */
export interface Members {
  /**
   * Only an owner may grant or remove the role owner.
   * @throws AppError `not_found`; `insufficient_role`; `last_owner`
   */
  setRole(actor: Actor, userId: string, role: MemberRole): Promise<Member>;
  /**
   * Removes a member, or the caller: with a session every member may leave. The member's keys of this team lose their user,
   * the sessions of it end.
   * @throws AppError `not_found`; `insufficient_role`; `session_required`; `last_owner`
   */
  remove(actor: Actor, userId: string): Promise<void>;
}

export function renderMember(row: MemberRow): Member {
  return { id: row.userId, email: row.email, role: row.role, joined_at: row.joinedAt.toISOString() };
}

export const unknownMember = () => new AppError("not_found", "The team has no member with this id.");

/** @throws AppError `not_found` */
async function memberOf(tx: Transaction, actor: Actor, userId: string): Promise<MemberRow> {
  const member = isId("usr", userId) ? await findMember(tx, actor.teamId, userId) : null;
  if (member === null) throw unknownMember();
  return member;
}

/** @throws AppError `last_owner` when the team would have none */
async function requireAnotherOwner(tx: Transaction, actor: Actor): Promise<void> {
  if ((await countOwners(tx, actor.teamId)) > 1) return;
  throw new AppError("last_owner", "Make another member an owner first, or transfer the team.");
}

export function createMembers(deps: { publisher: ChangePublisher }): Members {
  const { publisher } = deps;
  return {
    setRole: (actor, userId, role) =>
      publisher.transact(async (tx) => {
        const { role: own } = await lockActingMember(tx, actor, "admin");
        const member = await memberOf(tx, actor, userId);
        const concernsOwner = member.role === "owner" || role === "owner";
        if (concernsOwner && own !== "owner") throw insufficientRole("owner", own);
        if (member.role === "owner" && role !== "owner") await requireAnotherOwner(tx, actor);
        await setMemberRole(tx, { teamId: actor.teamId, userId, role });
        return renderMember({ ...member, role });
      }, actor.teamId),

    remove: (actor, userId) =>
      publisher.transact(async (tx) => {
        const { role: own } = await lockActingMember(tx, actor, "member");
        requireRemover(actor, own, userId);
        const member = await memberOf(tx, actor, userId);
        if (member.role === "owner") {
          if (own !== "owner") throw insufficientRole("owner", own);
          await requireAnotherOwner(tx, actor);
        }
        await deleteMember(tx, actor.teamId, userId);
      }, actor.teamId),
  };
}

/** Admins remove others. Leaving is the member's own decision: no key below admin may do it. */
function requireRemover(actor: Actor, own: MemberRole, userId: string): void {
  if (hasAtLeastRole(own, "admin")) return;
  if (userId !== actor.userId) throw insufficientRole("admin", own);
  if (!actor.isSession)
    throw new AppError("session_required", "Leaving the team requires your portal session, not a key.");
}
