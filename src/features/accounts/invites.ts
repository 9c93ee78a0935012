import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { insufficientRole, lockActingMember } from "../auth/acting-member.ts";
import type { Actor, MemberRole } from "../identity/actor.ts";
import { hashSecret, newSecret } from "../identity/api-key.ts";
import { requireEmail } from "../identity/email-address.ts";
import { findMember } from "../identity/member-sql.ts";
import { findTeam } from "../identity/team-sql.ts";
import { findUserByEmail } from "../identity/users.ts";
import type { MailQueue } from "../mail/queue.ts";
import { invitationMail, mailableName, portalLink } from "../mail/texts.ts";
import { findTeamInvite, type InviteRow, insertInvite, listInvites, takeInvite } from "./invite-sql.ts";
import type { PortalLimits } from "./portal-limits.ts";

/** A pending invitation. It is listed until it is accepted, revoked or expired. */
export interface Invite {
  id: string;
  email: string;
  role: MemberRole;
  status: "pending";
  created_at: string;
  expires_at: string;
}

/**
 * The token, alone and in the link, is shown once: it is stored as a hash. Where mail is sent the mail contains another
 * token, and only that one creates an account: the inviter has not proved the address.
 */
export interface NewInvitation extends Invite {
  token: string;
  link: string;
  /** False: no mail is sent here, or too many were sent recently; the inviter passes the link on. */
  mailed: boolean;
}

export interface Invites {
  /** Newest first. */
  list(actor: Actor, ask: PageRequest): Promise<Page<Invite>>;
  /**
   * Invites an address, in place of an earlier invitation, and mails it where mail is configured, unless the address got
   * too many mails recently.
   * @throws AppError `insufficient_role` when an admin invites an owner or replaces an owner's invitation;
   *   `already_member`; `limit_reached`; `rate_limited`; `validation_failed`
   */
  create(actor: Actor, invite: { email: string; role: MemberRole }): Promise<NewInvitation>;
  /**
   * Revokes an invitation; its waiting mail is not sent any more.
   * @throws AppError `not_found`; `insufficient_role` when an admin revokes that of an owner
   */
  cancel(actor: Actor, id: string): Promise<void>;
}

export interface InvitesDeps {
  sql: Database;
  limits: PortalLimits;
  /** null: no mail is sent here. */
  queue: MailQueue | null;
  baseUrl: string;
}

const hashOf = (token: string) => Buffer.from(hashSecret(token), "hex");

function render(row: InviteRow): Invite {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: "pending",
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
  };
}

/** Only owners may create owners. @throws AppError `insufficient_role` */
function requireOwner(invited: readonly (MemberRole | undefined)[], own: MemberRole): void {
  if (invited.includes("owner") && own !== "owner") throw insufficientRole("owner", own);
}

export function createInvites(deps: InvitesDeps): Invites {
  const { sql, limits, queue } = deps;

  const linkOf = (token: string, email: string, team: string) =>
    portalLink(deps.baseUrl, "accept-invite", { token, email, team: mailableName(team) });

  /** Writes the invitation and, where `mails` is not null, its mail. @param token of the mail, where mail is sent */
  function store(
    actor: Actor,
    { email, role, token, shown }: { email: string; role: MemberRole; token: string; shown: string | null },
    mails: MailQueue | null,
  ): Promise<{ row: InviteRow; teamName: string }> {
    return sql.begin(async (tx) => {
      const { userId, role: own } = await lockActingMember(tx, actor, "admin");
      const replaced = await findTeamInvite(tx, actor.teamId, { email });
      requireOwner([role, replaced?.role], own);
      const user = await findUserByEmail(tx, email);
      if (user !== null && (await findMember(tx, actor.teamId, user.id)) !== null)
        throw new AppError("already_member", "This address is already a member of the team.");
      const row = await insertInvite(tx, {
        ...{ id: newId("inv"), teamId: actor.teamId, email, role, invitedBy: userId },
        hash: hashOf(token),
        shownHash: shown === null ? null : hashOf(shown),
      });
      if (row === null)
        throw new AppError(
          "limit_reached",
          `A team may have at most ${LIMITS.portal.invitesPerTeam} pending invitations.`,
        );
      const teamName = (await findTeam(tx, actor.teamId))?.name ?? "";
      if (mails !== null) {
        const link = linkOf(token, email, teamName);
        const mail = { to: email, teamName, role, link, token, expiresAt: row.expiresAt };
        await mails.enqueue(tx, invitationMail(mail), { inviteId: row.id }, LIMITS.mail.keptMs);
      }
      return { row, teamName };
    }, actor.teamId);
  }

  return {
    async list(actor, ask) {
      const rows = await listInvites(sql, actor.teamId, { after: ask.after, limit: ask.limit + 1 });
      return pageOf(rows, ask, (row) => row.id, render);
    },

    async create(actor, { email: text, role }) {
      const email = requireEmail(text);
      requireOwner([role], actor.role);
      await limits.invitation(actor.teamId, email);
      const token = newSecret("inv");
      const mailed = queue !== null && (await limits.invitationMail(actor, email));
      const tokens = queue === null ? { token, shown: null } : { token: newSecret("inv"), shown: token };
      const { row, teamName } = await store(actor, { email, role, ...tokens }, mailed ? queue : null);
      return { ...render(row), token, link: linkOf(token, email, teamName), mailed };
    },

    async cancel(actor, id) {
      await sql.begin(async (tx) => {
        const { role: own } = await lockActingMember(tx, actor, "admin");
        const invite = isId("inv", id) ? await findTeamInvite(tx, actor.teamId, { id }) : null;
        requireOwner([invite?.role], own);
        if (invite === null || !(await takeInvite(tx, invite)))
          throw new AppError("not_found", "The team has no pending invitation with this id.");
      }, actor.teamId);
    },
  };
}
