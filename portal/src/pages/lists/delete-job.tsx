import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, Problem } from "../../api/client.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { Failure } from "../../components/notice.tsx";
import { deleteUpload } from "../../uploads/file-upload.ts";
import { readUpload } from "../../uploads/read-upload.ts";
import { type BulkJob, listName } from "../../words/jobs.ts";
import { counted } from "../../words/numbers.ts";
import { forgetJobLists, jobKey } from "./use-job.ts";

/** The uploaded file; null: the service has it no more. */
const fileQuery = (uploadId: string | null) =>
  queryOptions({
    queryKey: ["file of list", uploadId],
    queryFn: () => (uploadId === null ? null : readUpload(uploadId)),
    staleTime: 0,
  });

/** Number of other lists that were made of a file. */
const otherLists = ({ jobs }: { jobs: number }): number => jobs - 1;

interface FileChoiceProps {
  others: number;
  isTicked: boolean;
  onTick(to: boolean): void;
}

/** Whether the file goes too. Other lists may need it: their results, or another try, are made from it. */
function FileChoice({ others, isTicked, onTick }: FileChoiceProps) {
  if (others > 0)
    return (
      <p className="muted">
        The uploaded file stays: {counted(others, "other list was", "other lists were")} made of it.
      </p>
    );
  return (
    <label className="check">
      <input type="checkbox" checked={isTicked} onChange={({ target }) => onTick(target.checked)} />
      Also delete the uploaded file, which holds the addresses
    </label>
  );
}

async function deleteJob(id: string): Promise<void> {
  try {
    await api.DELETE("/v1/bulk-jobs/{id}", { params: { path: { id } } });
  } catch (error) {
    if (!(error instanceof Problem && error.status === 404)) throw error;
  }
}

/** Deletes a list that has ended: its results and, unless it is told to stay, its file. */
export function DeleteJob({ job }: { job: BulkJob }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const query = fileQuery(job.source.type === "upload" ? job.source.upload_id : null);
  const { data: file, error, isPending } = useQuery(query);
  const [isTicked, setTicked] = useState(true);
  /** Deletes the file only where the dialog asks about it. It is read again: another list may have been made of it since. */
  async function deleteFile(): Promise<void> {
    const isOffered = file != null && otherLists(file) === 0;
    if (!isOffered) return;
    const now = await queries.fetchQuery(query);
    if (now === null) return;
    if (otherLists(now) > 0)
      throw new Error(
        "Nothing was deleted: meanwhile another list was made of the file. Without it the list can go.",
      );
    await deleteUpload(now.id);
  }
  async function remove(): Promise<void> {
    // The file first: when the service refuses that, nothing has been deleted, and the box can be unticked.
    if (isTicked) await deleteFile();
    await deleteJob(job.id);
    await forgetJobLists(queries);
    await navigate({ to: "/lists" });
    queries.removeQueries({ queryKey: jobKey(job.id) });
  }
  return (
    <ConfirmDialog
      trigger="Delete"
      title="Delete the list?"
      action="Delete"
      done={`The list ${shownText(listName(job))} was deleted.`}
      onConfirm={remove}
    >
      <p>
        The results of{" "}
        <strong>
          <ForeignText>{listName(job)}</ForeignText>
        </strong>{" "}
        are gone then, for the whole team. This cannot be taken back.
      </p>
      <Failure error={error} />
      {isPending && <Loading />}
      {file != null && <FileChoice others={otherLists(file)} isTicked={isTicked} onTick={setTicked} />}
    </ConfirmDialog>
  );
}
