import { useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { PagedTable } from "../../components/tables/paged-table.tsx";
import { Time } from "../../components/time.tsx";

type Key = Awaited<ReturnType<typeof readPage>>["data"][number];

const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/keys", { params: { query: pageQuery(cursor) } }));

function KeyRow({ of: key }: { of: Key }) {
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

const COLUMNS = ["Name", "Kind", "Role", "Key", "Made", "Last used", { hidden: "Revoke" }];

/** The keys of the team, and how to revoke one. */
export function KeyTable() {
  const keys = usePages(["keys"], readPage);
  return (
    <PagedTable
      label="Keys"
      pages={keys}
      columns={COLUMNS}
      row={(key) => <KeyRow key={key.id} of={key} />}
      empty={<p className="muted">No keys yet. A test key costs nothing: make one, and try the API.</p>}
      more="Older ones"
    />
  );
}
