import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { identityQuery, type Role, useHasRole, useIdentity } from "../../api/session.ts";
import { announce } from "../../components/announcement.tsx";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Failure } from "../../components/notice.tsx";
import { type Member, teamQuery } from "./read-team.ts";

const ROLES: readonly Role[] = ["member", "admin", "owner"];
const withArticle = (role: Role) => (role === "member" ? "a member" : `an ${role}`);

/** Who can take a change of one's own role back. */
const whoGivesBack = (role: Role) => (role === "owner" ? "another owner" : "another admin or an owner");

interface ChangeProps {
  member: Member;
  /** The chosen role. */
  to: Role;
  done: string;
  onConfirm(): Promise<void>;
}

/** Asks before a change that the person who makes it cannot take back alone. */
function ConfirmedChange({ member, to, ...rest }: ChangeProps) {
  const { user } = useIdentity();
  const isOwn = member.id === user?.id;
  return (
    <ConfirmDialog
      trigger="Change"
      title={isOwn ? "Change your own role?" : "Make this member an owner?"}
      action={isOwn ? `Become ${withArticle(to)}` : "Make an owner"}
      {...rest}
    >
      {isOwn ? (
        <p>
          You become {withArticle(to)}. Only {whoGivesBack(member.role)} of the team can make you{" "}
          {withArticle(member.role)} again.
        </p>
      ) : (
        <p>
          <strong>
            <ForeignText>{member.email}</ForeignText>
          </strong>{" "}
          may then do everything that you may: also remove you, and delete the team.
        </p>
      )}
    </ConfirmDialog>
  );
}

/** A choice of the role, and a button that changes it. */
function RoleChoice({ member }: { member: Member }) {
  const queries = useQueryClient();
  const { user } = useIdentity();
  const isOwner = useHasRole("owner");
  const select = useRef<HTMLSelectElement>(null);
  const [draft, setDraft] = useState<Role | null>(null);
  const to = draft ?? member.role;
  const done = `${shownText(member.email)} is ${withArticle(to)} now.`;
  async function send(): Promise<void> {
    await api.PATCH("/v1/team/members/{id}", { params: { path: { id: member.id } }, body: { role: to } });
    await queries.invalidateQueries(teamQuery);
    setDraft(null);
    await queries.invalidateQueries(identityQuery);
  }
  const change = useMutation({
    mutationFn: send,
    onSuccess() {
      // The button is gone.
      select.current?.focus();
      announce(done);
    },
  });
  return (
    <>
      <span className="row">
        <select
          ref={select}
          className="select"
          aria-label={`Role of ${shownText(member.email)}`}
          value={to}
          onChange={(event) => setDraft(event.target.value as Role)}
        >
          {ROLES.filter((role) => role !== "owner" || isOwner).map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
        {to !== member.role &&
          (to === "owner" || member.id === user?.id ? (
            <ConfirmedChange member={member} to={to} done={done} onConfirm={send} />
          ) : (
            <Button busy={change.isPending} onClick={() => change.mutate()}>
              Change
            </Button>
          ))}
      </span>
      <Failure error={change.error} />
    </>
  );
}

/** A member's role, and its change by those who may. Only owners may add or remove owners. */
export function MemberRole({ member }: { member: Member }) {
  const isAdmin = useHasRole("admin");
  const isOwner = useHasRole("owner");
  if (!isAdmin || (member.role === "owner" && !isOwner)) return <span>{member.role}</span>;
  return <RoleChoice member={member} />;
}
