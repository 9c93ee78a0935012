import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api } from "../../api/client.ts";
import { leaveForSignIn } from "../../api/leave.ts";
import { identityQuery, useIdentity } from "../../api/session.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Field } from "../../components/forms/field.tsx";
import { Select } from "../../components/forms/select.tsx";
import { type Member, teamQuery } from "./read-team.ts";

/** Makes another member an owner, and oneself an admin, at once. */
export function TransferOwnership({ members }: { members: readonly Member[] }) {
  const id = useId();
  const queries = useQueryClient();
  const { user } = useIdentity();
  const others = members.filter((member) => member.id !== user?.id);
  const [chosenId, setChosenId] = useState("");
  const chosen = others.find((member) => member.id === chosenId) ?? others[0];
  async function transfer(): Promise<void> {
    if (chosen === undefined) return;
    await api.POST("/v1/team/transfer", { body: { user_id: chosen.id } });
    await queries.invalidateQueries(teamQuery);
    await queries.invalidateQueries(identityQuery);
  }
  return (
    <section className="card" aria-labelledby={id}>
      <h2 id={id}>Transfer the ownership</h2>
      {chosen === undefined ? (
        <p className="muted">There is no other member yet: invite the new owner first.</p>
      ) : (
        <>
          <Select
            label="New owner"
            value={chosen.id}
            onChange={setChosenId}
            options={others.map((member) => [member.id, `${member.email} (${member.role})`])}
          />
          <div className="row">
            <ConfirmDialog
              trigger="Transfer"
              title="Transfer the ownership?"
              action="Transfer"
              done={`${shownText(chosen.email)} is an owner now, and you are an admin.`}
              onConfirm={transfer}
            >
              <p>
                <strong>
                  <ForeignText>{chosen.email}</ForeignText>
                </strong>{" "}
                becomes an owner and you become an admin. Only an owner can make you one again.
              </p>
            </ConfirmDialog>
          </div>
        </>
      )}
    </section>
  );
}

/** Deletes the team, once its name has been typed. */
export function DeleteTeam() {
  const { team } = useIdentity();
  const [typed, setTyped] = useState("");
  async function remove(): Promise<void> {
    if (typed.trim() !== team.name.trim()) throw new Error("Type the name of the team as it stands above.");
    await api.DELETE("/v1/team");
    leaveForSignIn();
  }
  return (
    <section className="card" aria-labelledby="delete-team">
      <h2 id="delete-team">Delete the team</h2>
      <p className="muted">
        Its lists, results, keys, webhooks, blocklist, disposable domains and usage go for good, and its
        subscription is cancelled. The members keep their accounts.
      </p>
      <div className="row">
        <ConfirmDialog
          trigger="Delete the team"
          title="Delete the team with all it has?"
          action="Delete for good"
          onConfirm={remove}
        >
          <p>
            Programs with its keys are refused within a second. To go on, type the name of the team:{" "}
            <strong>
              <ForeignText>{team.name}</ForeignText>
            </strong>
          </p>
          <Field label="Name of the team to delete" autoComplete="off" value={typed} onChange={setTyped} />
        </ConfirmDialog>
      </div>
    </section>
  );
}
