import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Field } from "../../components/field.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { PagedTable } from "../../components/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { useForm } from "../../components/use-form.ts";

const blocklistKey = ["blocklist"];
const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/blocklist", { params: { query: pageQuery(cursor) } }));
type Entry = Awaited<ReturnType<typeof readPage>>["data"][number];

function NewEntry() {
  const queries = useQueryClient();
  const [below, setBelow] = useState(true);
  const form = useForm({ domain: "" }, async ({ domain }) => {
    const body = { domain: domain.trim(), include_subdomains: below };
    await api.POST("/v1/blocklist", { params: { header: {} }, body });
    await queries.invalidateQueries({ queryKey: blocklistKey });
    form.reset();
  });
  return (
    <form className="card" onSubmit={form.submit}>
      <Field
        label="Domain"
        hint="Such as example.com"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        required
        {...form.field("domain")}
      />
      <label className="row">
        <input type="checkbox" checked={below} onChange={(event) => setBelow(event.target.checked)} />
        With all domains below it
      </label>
      <Failure error={form.error} />
      <div className="row">
        <Button type="submit" look="primary" busy={form.busy}>
          Block
        </Button>
      </div>
    </form>
  );
}

function EntryRow({ of: entry }: { of: Entry }) {
  const queries = useQueryClient();
  const mayUnblock = useHasRole("admin");
  async function unblock(): Promise<void> {
    await api.DELETE("/v1/blocklist/{domain}", { params: { path: { domain: entry.domain } } });
    await queries.invalidateQueries({ queryKey: blocklistKey });
  }
  return (
    <tr>
      <th scope="row" className="wrap-anywhere">
        {entry.domain}
      </th>
      <td>{entry.include_subdomains ? "yes" : "no"}</td>
      <td>
        <Time at={entry.created_at} />
      </td>
      <td>
        {mayUnblock && (
          <ConfirmDialog trigger="Unblock" title="Unblock the domain?" action="Unblock" onConfirm={unblock}>
            <p>
              Addresses of <strong className="wrap-anywhere">{entry.domain}</strong> are checked again.
            </p>
          </ConfirmDialog>
        )}
      </td>
    </tr>
  );
}

const COLUMNS = ["Domain", "Those below", "Since", { hidden: "Unblock" }];

/** Domains whose addresses the team holds for risky, whatever is found out. */
export function BlocklistPage() {
  const isAdmin = useHasRole("admin");
  const entries = usePages(blocklistKey, readPage);
  return (
    <>
      <PageHead title="Blocklist" />
      <p className="muted">
        Addresses of these domains are answered risky, and no server is asked. A change holds everywhere
        within a second.
      </p>
      {isAdmin ? (
        <NewEntry />
      ) : (
        <Notice>Admins and owners of the team block and unblock; you are a member.</Notice>
      )}
      <section className="card" aria-label="Blocked domains">
        <PagedTable
          label="Blocked domains"
          pages={entries}
          columns={COLUMNS}
          row={(entry) => <EntryRow key={entry.domain} of={entry} />}
          empty={<p className="muted">No domain is blocked.</p>}
        />
      </section>
    </>
  );
}
