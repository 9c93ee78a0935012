import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { leaveForSignIn } from "../../api/leave.ts";
import { useHasRole, useIdentity } from "../../api/session.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { AddressText, ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Table } from "../../components/tables/table.tsx";
import { Time } from "../../components/time.tsx";
import { MemberRole } from "./member-role.tsx";
import { type Member, teamQuery } from "./read-team.ts";

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
    await queries.invalidateQueries(teamQuery);
  }
  return (
    <ConfirmDialog
      trigger="Remove"
      title="Remove the member?"
      action="Remove"
      done={`${shownText(member.email)} was removed.`}
      onConfirm={remove}
    >
      <p>
        <strong>
          <ForeignText>{member.email}</ForeignText>
        </strong>{" "}
        is signed out within a second. The keys they made stay, and only verify and read from then on.
      </p>
      <p>
        First revoke the keys that they know: afterwards nothing says which they made.{" "}
        <Link to="/keys">See who made which key.</Link>
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
            <MemberRole member={member} />
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
