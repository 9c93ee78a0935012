import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { type Role, useIdentity } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { AddressText, ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Field } from "../../components/forms/field.tsx";
import { Select } from "../../components/forms/select.tsx";
import { useForm } from "../../components/forms/use-form.ts";
import { Failure, Notice } from "../../components/notice.tsx";
import { Secret } from "../../components/secret.tsx";
import { PagedTable } from "../../components/tables/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { rolesUpTo } from "../../words/roles.ts";

const invitesKey = ["invites"];
const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/team/invites", { params: { query: pageQuery(cursor) } }));
type Invite = Awaited<ReturnType<typeof readPage>>["data"][number];

interface Invited {
  email: string;
  link: string;
  mailed: boolean;
}

function NewInvitation() {
  const queries = useQueryClient();
  const { role: own } = useIdentity();
  const [role, setRole] = useState<Role>("member");
  const [invited, setInvited] = useState<Invited | null>(null);
  const form = useForm({ email: "" }, async ({ email }) => {
    setInvited(await dataOf(api.POST("/v1/team/invites", { body: { email, role } })));
    form.reset();
    void queries.invalidateQueries({ queryKey: invitesKey });
  });
  return (
    <>
      <form className="stack" onSubmit={form.submit}>
        <Field label="Email" type="email" autoComplete="off" required {...form.field("email")} />
        <Select label="Role" value={role} onChange={setRole} options={rolesUpTo(own)} />
        <Failure error={form.error} />
        <div className="row">
          <Button type="submit" look="primary" busy={form.busy}>
            Invite
          </Button>
        </div>
      </form>
      {invited !== null && (
        <>
          <Notice kind="success">
            <strong>
              <ForeignText>{invited.email}</ForeignText>
            </strong>{" "}
            is invited.{" "}
            {invited.mailed ? "A mail with a link is on its way." : "No mail was sent: hand on this link."}
          </Notice>
          {!invited.mailed && <Secret value={invited.link} of="the invitation's link" />}
        </>
      )}
    </>
  );
}

function InviteRow({ of: invite }: { of: Invite }) {
  const queries = useQueryClient();
  async function withdraw(): Promise<void> {
    await api.DELETE("/v1/team/invites/{id}", { params: { path: { id: invite.id } } });
    await queries.invalidateQueries({ queryKey: invitesKey });
  }
  return (
    <tr>
      <th scope="row" className="entry">
        <AddressText>{invite.email}</AddressText>
      </th>
      <td>{invite.role}</td>
      <td>
        <Time at={invite.expires_at} />
      </td>
      <td>
        <ConfirmDialog
          trigger="Withdraw"
          title="Withdraw the invitation?"
          action="Withdraw"
          done={`The invitation of ${shownText(invite.email)} was withdrawn.`}
          onConfirm={withdraw}
        >
          <p>
            The link that{" "}
            <strong>
              <ForeignText>{invite.email}</ForeignText>
            </strong>{" "}
            has leads nowhere from then on.
          </p>
        </ConfirmDialog>
      </td>
    </tr>
  );
}

const COLUMNS = ["Invited", "Role", "Expires", { hidden: "Withdraw" }];

/** The open invitations, and a form for a new one. */
export function Invitations() {
  const invites = usePages(invitesKey, readPage);
  return (
    <section className="card" aria-labelledby="invitations">
      <h2 id="invitations">Invite a colleague</h2>
      <NewInvitation />
      <PagedTable
        label="Open invitations"
        pages={invites}
        columns={COLUMNS}
        row={(invite) => <InviteRow key={invite.id} of={invite} />}
        empty={null}
        more="Older ones"
      />
    </section>
  );
}
