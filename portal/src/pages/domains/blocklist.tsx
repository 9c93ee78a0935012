import { useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { PagedTable } from "../../components/tables/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { FindField } from "./find-field.tsx";
import { NewEntries } from "./new-entries.tsx";
import { useFind } from "./use-find.ts";

const blocklistKey = ["blocklist"];
const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/blocklist", { params: { query: { ...pageQuery(cursor), limit: 100 } } }));
type Entry = Awaited<ReturnType<typeof readPage>>["data"][number];

function EntryRow({ of: entry }: { of: Entry }) {
  const queries = useQueryClient();
  const mayUnblock = useHasRole("admin");
  async function unblock(): Promise<void> {
    await api.DELETE("/v1/blocklist/{domain}", { params: { path: { domain: entry.domain } } });
    await queries.invalidateQueries({ queryKey: blocklistKey });
  }
  return (
    <tr>
      <th scope="row" className="entry">
        <ForeignText>{entry.domain}</ForeignText>
      </th>
      <td>{entry.include_subdomains ? "yes" : "no"}</td>
      <td>
        <Time at={entry.created_at} />
      </td>
      <td>
        {mayUnblock && (
          <ConfirmDialog
            trigger="Unblock"
            title="Unblock the domain?"
            action="Unblock"
            done={`${shownText(entry.domain)} was unblocked.`}
            onConfirm={unblock}
          >
            <p>
              Addresses of{" "}
              <strong>
                <ForeignText>{entry.domain}</ForeignText>
              </strong>{" "}
              are checked again.
            </p>
          </ConfirmDialog>
        )}
      </td>
    </tr>
  );
}

const COLUMNS = ["Domain", "Subdomains too", "Since", { hidden: "Unblock" }];

/** Domains whose addresses are answered risky to the team, without a check. */
export function BlocklistPage() {
  const isAdmin = useHasRole("admin");
  const entries = usePages(blocklistKey, readPage);
  const find = useFind(entries);
  return (
    <>
      <PageHead title="Blocklist" />
      <p className="muted">
        Addresses of these domains are answered risky, and no server is asked. A change holds everywhere
        within a second.
      </p>
      {isAdmin ? (
        <NewEntries />
      ) : (
        <Notice>Admins and owners of the team block and unblock; you are a member.</Notice>
      )}
      <section className="card" aria-label="Blocked domains">
        <FindField {...find} />
        <PagedTable
          label="Blocked domains"
          pages={find.pages}
          columns={COLUMNS}
          row={(entry) => <EntryRow key={entry.domain} of={entry} />}
          empty={!find.isFinding && <p className="muted">No domain is blocked.</p>}
        />
      </section>
    </>
  );
}
