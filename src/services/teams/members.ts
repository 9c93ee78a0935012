import { AppError } from "../../core/errors.ts";
import { isId } from "../../core/ids.ts";
import { countOwners, deleteMember, findMember, type MemberRow, setMemberRole } from "../../store/members.ts";
import type { Transaction } from "../../store/postgres.ts";
import { type Actor, type Role, reaches } from "../actor.ts";
import type { ChangePublisher } from "../authenticate/publish.ts";
import { insufficientRole, lockActingMember } from "./acting-member.ts";

/** A member of a team. */
export interface Member {
  /** The user's. */
  id: string;
  email: string;
  role: Role;
  joined_at: string;
}

/** Who belongs to a team, and as what. Changes are in force here at once, in every other process within a second. */
export interface Members {
  /**
   * Only an owner makes or unmakes an owner.
   * @throws AppError `not_found`; `insufficient_role`; `last_owner`
   */
  setRole(actor: Actor, userId: string, role: Role): Promise<Member>;
  /**
   * Removes a member, or oneself: by a session every member may leave. The keys they made for this team lose their
   * user, their sessions of it end.
   * @throws AppError `not_found`; `insufficient_role`; `session_required`; `last_owner`
   */
  remove(actor: Actor, userId: string): Promise<void>;
}

export function renderMember(row: MemberRow): Member {
  return { id: row.userId, email: row.email, role: row.role, joined_at: row.joinedAt.toISOString() };
}

export const unknownMember = () => new AppError("not_found", "The team has no member of this id.");

/** @throws AppError `not_found` */
async function memberOf(tx: Transaction, actor: Actor, userId: string): Promise<MemberRow> {
  const member = isId("usr", userId) ? await findMember(tx, actor.teamId, userId) : null;
  if (member === null) throw unknownMember();
  return member;
}

/** @throws AppError `last_owner` when the team would be without one */
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
      }),

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
      }),
  };
}

/** Admins remove others. That a member leaves is for the person to say: no key below admin says it for him. */
function requireRemover(actor: Actor, own: Role, userId: string): void {
  if (reaches(own, "admin")) return;
  if (userId !== actor.userId) throw insufficientRole("admin", own);
  if (!actor.isSession)
    throw new AppError("session_required", "Leaving the team needs your portal session, not a key.");
}
