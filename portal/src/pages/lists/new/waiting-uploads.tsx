import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, dataOf } from "../../../api/client.ts";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../../components/foreign-text.tsx";
import { Table } from "../../../components/tables/table.tsx";
import { Time } from "../../../components/time.tsx";
import { deleteUpload } from "../../../uploads/file-upload.ts";
import { byteSize } from "../../../words/bytes.ts";

/** Cache key of the waiting uploads. */
const waitingKey = ["waiting uploads"];

/**
 * Complete uploads without a job. A job is younger than its upload. So the newest jobs, down to the oldest one read,
 * include every job of an upload made since then.
 */
async function readWaiting() {
  const [uploads, jobs] = await Promise.all([
    dataOf(api.GET("/v1/uploads", { params: { query: {} } })),
    dataOf(api.GET("/v1/bulk-jobs", { params: { query: {} } })),
  ]);
  const used = new Set(jobs.data.map(({ source }) => (source.type === "upload" ? source.upload_id : null)));
  const since = jobs.next_cursor === null ? "" : (jobs.data.at(-1)?.created_at ?? "");
  return uploads.data.filter(
    ({ id, status, created_at: createdAt }) => status === "stored" && createdAt >= since && !used.has(id),
  );
}

type Waiting = Awaited<ReturnType<typeof readWaiting>>[number];

function WaitingUpload({ of: upload }: { of: Waiting }) {
  const queries = useQueryClient();
  async function remove(): Promise<void> {
    await deleteUpload(upload.id);
    await queries.invalidateQueries({ queryKey: waitingKey });
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
          <Link to="/lists/new" search={{ upload: upload.id }} className="button">
            Continue
            <span className="visually-hidden"> with {shownText(upload.filename)}</span>
          </Link>
          <ConfirmDialog trigger="Delete" title="Delete the file?" action="Delete" onConfirm={remove}>
            <p>
              <strong>
                <ForeignText>{upload.filename}</ForeignText>
              </strong>{" "}
              was not verified. It would have to be uploaded again.
            </p>
          </ConfirmDialog>
        </div>
      </td>
    </tr>
  );
}

/** Files that were sent and not verified yet; nothing without such files. */
export function WaitingUploads() {
  const waiting = useQuery({ queryKey: waitingKey, queryFn: readWaiting, staleTime: 0 });
  if (waiting.data === undefined || waiting.data.length === 0) return null;
  return (
    <section className="card" aria-labelledby="waiting">
      <h2 id="waiting">Sent, not verified yet</h2>
      <Table
        label="Files that were sent and not verified yet"
        columns={["File", { number: "Size" }, "Sent", { hidden: "What to do" }]}
      >
        {waiting.data.map((upload) => (
          <WaitingUpload key={upload.id} of={upload} />
        ))}
      </Table>
    </section>
  );
}
