import { useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { BASE_PATH } from "../../base-path.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Loading } from "../../components/loading.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { TableScroll } from "../../components/table-scroll.tsx";
import { Time } from "../../components/time.tsx";
import { NewKey } from "./new-key.tsx";

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
      <th scope="row" className="wrap-anywhere">
        {key.label}
      </th>
      <td>
        <span className={`badge ${key.env === "test" ? "risky" : ""}`}>{key.env}</span>
      </td>
      <td>
        <code>
          {key.prefix}…{key.last4}
        </code>
      </td>
      <td>
        <Time at={key.created_at} />
      </td>
      <td>{key.last_used_at === null ? "never" : <Time at={key.last_used_at} />}</td>
      <td>
        {mayRevoke && (
          <ConfirmDialog trigger="Revoke" title="Revoke the key?" action="Revoke" onConfirm={revoke}>
            <p>
              Programs that use <strong className="wrap-anywhere">{key.label}</strong> are refused within a
              second. This cannot be taken back.
            </p>
          </ConfirmDialog>
        )}
      </td>
    </tr>
  );
}

function KeyTable() {
  const keys = usePages(["keys"], readPage);
  if (keys.isPending) return <Loading />;
  if (keys.error !== null) return <Failure error={keys.error} />;
  const { rows } = keys;
  if (rows.length === 0)
    return <p className="muted">No keys yet. A test key costs nothing: make one, and try the API.</p>;
  return (
    <>
      <TableScroll label="Keys">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col">Key</th>
            <th scope="col">Made</th>
            <th scope="col">Last used</th>
            <th scope="col">
              <span className="visually-hidden">Revoke</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((key) => (
            <KeyRow key={key.id} of={key} />
          ))}
        </tbody>
      </TableScroll>
      {keys.hasNextPage && (
        <Button onClick={() => void keys.fetchNextPage()} busy={keys.isFetchingNextPage}>
          Older ones
        </Button>
      )}
    </>
  );
}

export function KeysPage() {
  const isAdmin = useHasRole("admin");
  return (
    <>
      <div className="page-head">
        <h1>API keys</h1>
        <a href={`${BASE_PATH}/docs`}>API reference</a>
      </div>
      {isAdmin ? (
        <NewKey />
      ) : (
        <Notice>Keys are made and revoked by admins and owners of the team; you are a member.</Notice>
      )}
      <section className="card" aria-label="Keys of the team">
        <KeyTable />
      </section>
    </>
  );
}
