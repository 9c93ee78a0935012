import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { leaveForSignIn } from "../../api/leave.ts";
import { identityQuery, type Role, useHasRole, useIdentity } from "../../api/session.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { AddressText, ForeignText } from "../../components/foreign-text.tsx";
import { Failure } from "../../components/notice.tsx";
import { Table } from "../../components/tables/table.tsx";
import { Time } from "../../components/time.tsx";
import type { Member } from "./read-team.ts";

const ROLES: readonly Role[] = ["member", "admin", "owner"];

/** A member's role, as a choice for those who may change it. Only owners may add or remove owners. */
function RoleOf({ member }: { member: Member }) {
  const queries = useQueryClient();
  const isAdmin = useHasRole("admin");
  const isOwner = useHasRole("owner");
  const change = useMutation({
    mutationFn: (role: Role) =>
      api.PATCH("/v1/team/members/{id}", { params: { path: { id: member.id } }, body: { role } }),
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ["team"] });
      await queries.invalidateQueries(identityQuery);
    },
  });
  if (!isAdmin || (member.role === "owner" && !isOwner)) return <span>{member.role}</span>;
  return (
    <>
      <select
        className="select"
        aria-label={`Role of ${member.email}`}
        value={change.isPending ? change.variables : member.role}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.value as Role)}
      >
        {ROLES.filter((role) => role !== "owner" || isOwner).map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      <Failure error={change.error} />
    </>
  );
}

function Leave({ member }: { member: Member }) {
  const { team } = useIdentity();
  async function leave(): Promise<void> {
    await api.DELETE("/v1/team/members/{id}", { params: { path: { id: member.id } } });
    leaveForSignIn();
  }
  return (
    <ConfirmDialog trigger="Leave" title="Leave the team?" action="Leave" onConfirm={leave}>
      <p>
        You are signed out of{" "}
        <strong>
          <ForeignText>{team.name}</ForeignText>
        </strong>
        . Your keys stay, and only verify and read from then on. To come back you have to be invited.
      </p>
    </ConfirmDialog>
  );
}

function Remove({ member }: { member: Member }) {
  const queries = useQueryClient();
  async function remove(): Promise<void> {
    await api.DELETE("/v1/team/members/{id}", { params: { path: { id: member.id } } });
    await queries.invalidateQueries({ queryKey: ["team"] });
  }
  return (
    <ConfirmDialog trigger="Remove" title="Remove the member?" action="Remove" onConfirm={remove}>
      <p>
        <strong>
          <ForeignText>{member.email}</ForeignText>
        </strong>{" "}
        is signed out within a second. The keys they made stay, and only verify and read from then on.
      </p>
    </ConfirmDialog>
  );
}

export function Members({ members }: { members: readonly Member[] }) {
  const { user } = useIdentity();
  const isAdmin = useHasRole("admin");
  const isOwner = useHasRole("owner");
  const mayRemove = (member: Member) => isAdmin && (member.role !== "owner" || isOwner);
  return (
    <Table label="Members" columns={["Email", "Role", "Joined", { hidden: "Remove or leave" }]}>
      {members.map((member) => (
        <tr key={member.id}>
          <th scope="row" className="entry">
            <AddressText>{member.email}</AddressText>
            {member.id === user?.id && <span className="muted"> (you)</span>}
          </th>
          <td>
            <RoleOf member={member} />
          </td>
          <td>
            <Time at={member.joined_at} />
          </td>
          <td>
            {member.id === user?.id ? (
              <Leave member={member} />
            ) : (
              mayRemove(member) && <Remove member={member} />
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
