import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { AddressText, ForeignText, shownText } from "../../components/foreign-text.tsx";
import { QueryFailure } from "../../components/notice.tsx";
import { PagedTable } from "../../components/tables/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { type Member, teamQuery } from "../team/read-team.ts";

type Key = Awaited<ReturnType<typeof readPage>>["data"][number];

const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/keys", { params: { query: pageQuery(cursor) } }));

interface MakerProps {
  /** The user's id; null: they have left the team. */
  id: string | null;
  /** undefined: not read yet. */
  members: readonly Member[] | undefined;
}

/** The address of the member who made a key. */
function Maker({ id, members }: MakerProps) {
  if (id !== null && members === undefined) return null;
  const maker = members?.find((member) => member.id === id);
  return maker === undefined ? (
    <span className="muted">left the team</span>
  ) : (
    <AddressText>{maker.email}</AddressText>
  );
}

function KeyRow({ of: key, members }: { of: Key; members: MakerProps["members"] }) {
  const queries = useQueryClient();
  const mayRevoke = useHasRole("admin");
  async function revoke(): Promise<void> {
    await api.DELETE("/v1/keys/{id}", { params: { path: { id: key.id } } });
    await queries.invalidateQueries({ queryKey: ["keys"] });
  }
  return (
    <tr>
      <th scope="row">
        <ForeignText>{key.label}</ForeignText>
      </th>
      <td>
        <span className={`badge ${key.env === "test" ? "risky" : ""}`}>{key.env}</span>
      </td>
      <td>{key.role}</td>
      <td>
        <code className="nowrap">
          {key.prefix}…{key.last4}
        </code>
      </td>
      <td>
        <Time at={key.created_at} />
      </td>
      <td className="entry">
        <Maker id={key.created_by} members={members} />
      </td>
      <td>{key.last_used_at === null ? "never" : <Time at={key.last_used_at} />}</td>
      <td>
        {mayRevoke && (
          <ConfirmDialog
            trigger="Revoke"
            title="Revoke the key?"
            action="Revoke"
            done={`The key ${shownText(key.label)} was revoked.`}
            onConfirm={revoke}
          >
            <p>
              Programs that use{" "}
              <strong>
                <ForeignText>{key.label}</ForeignText>
              </strong>{" "}
              are refused within a second. This cannot be taken back.
            </p>
          </ConfirmDialog>
        )}
      </td>
    </tr>
  );
}

const COLUMNS = ["Name", "Kind", "Role", "Key", "Made", "Made by", "Last used", { hidden: "Revoke" }];

/** The keys of the team, who made them, and how to revoke one. */
export function KeyTable() {
  const keys = usePages(["keys"], readPage);
  const team = useQuery(teamQuery);
  return (
    <>
      <QueryFailure of={team} />
      <PagedTable
        label="Keys"
        pages={keys}
        columns={COLUMNS}
        row={(key) => <KeyRow key={key.id} of={key} members={team.data?.members} />}
        empty={<p className="muted">No keys yet. A test key costs nothing: make one, and try the API.</p>}
        more="Older ones"
      />
    </>
  );
}
