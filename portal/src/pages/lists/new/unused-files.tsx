import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, dataOf } from "../../../api/client.ts";
import { pageQuery, usePages } from "../../../api/use-pages.ts";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../../components/foreign-text.tsx";
import { PagedTable } from "../../../components/tables/paged-table.tsx";
import { Time } from "../../../components/time.tsx";
import { deleteUpload } from "../../../uploads/file-upload.ts";
import { byteSize } from "../../../words/bytes.ts";
import { unusedFilesKey } from "../use-job.ts";

const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/uploads", { params: { query: { ...pageQuery(cursor), unused: true } } }));

type Upload = Awaited<ReturnType<typeof readPage>>["data"][number];

function UnusedFile({ of: upload, hasLists }: { of: Upload; hasLists: boolean }) {
  const queries = useQueryClient();
  async function remove(): Promise<void> {
    await deleteUpload(upload.id);
    await queries.invalidateQueries({ queryKey: unusedFilesKey });
  }
  return (
    <tr>
      <th scope="row" className="entry">
        <ForeignText>{upload.filename}</ForeignText>
      </th>
      <td className="number">{byteSize(upload.bytes ?? 0)}</td>
      <td>
        <Time at={upload.created_at} />
      </td>
      <td>
        <div className="row">
          {hasLists && (
            <Link to="/lists/new" search={{ upload: upload.id }} className="button">
              Continue
              <span className="visually-hidden"> with {shownText(upload.filename)}</span>
            </Link>
          )}
          <ConfirmDialog
            trigger="Delete"
            title="Delete the file?"
            action="Delete"
            done={`The file ${shownText(upload.filename)} was deleted.`}
            onConfirm={remove}
          >
            <p>
              <strong>
                <ForeignText>{upload.filename}</ForeignText>
              </strong>{" "}
              is gone then. To verify it, it would have to be uploaded again.
            </p>
          </ConfirmDialog>
        </div>
      </td>
    </tr>
  );
}

/**
 * Files that were sent and of which there is no list: it was not made yet, or was deleted. Nothing without such files.
 * @param hasLists the team's plan has lists: a file can be verified
 */
export function UnusedFiles({ hasLists }: { hasLists: boolean }) {
  const files = usePages(unusedFilesKey, readPage, { staleTime: 0 });
  const { rows, error, isPending } = files;
  if (isPending || (rows.length === 0 && error === null)) return null;
  return (
    <section className="card" aria-labelledby="unused">
      <h2 id="unused">Files without a list</h2>
      <PagedTable
        label="Files without a list"
        pages={files}
        columns={["File", { number: "Size" }, "Sent", { hidden: "What to do" }]}
        row={(upload) => <UnusedFile key={upload.id} of={upload} hasLists={hasLists} />}
        empty={null}
      />
    </section>
  );
}
