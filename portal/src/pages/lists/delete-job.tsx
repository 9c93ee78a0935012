import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, Problem } from "../../api/client.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Failure } from "../../components/notice.tsx";
import { deleteUpload } from "../../uploads/file-upload.ts";
import { readUpload } from "../../uploads/read-upload.ts";
import { type BulkJob, listName } from "../../words/jobs.ts";
import { counted } from "../../words/numbers.ts";
import { forgetJobLists, jobKey } from "./use-job.ts";

/** The uploaded file of a list, if the service still has it, and the number of other lists that were made of it. */
function useFile({ source }: BulkJob) {
  const uploadId = source.type === "upload" ? source.upload_id : null;
  const { data, error } = useQuery({
    queryKey: ["file of list", uploadId],
    queryFn: () => readUpload(uploadId ?? ""),
    enabled: uploadId !== null,
    staleTime: 0,
  });
  const file = data == null ? null : { id: data.id, name: data.filename, otherLists: data.jobs - 1 };
  return { file, error };
}

type File = NonNullable<ReturnType<typeof useFile>["file"]>;

/** Whether the file goes too. Other lists may need it: their results, or another try, are made from it. */
function FileChoice({
  file,
  isTicked,
  onTick,
}: {
  file: File;
  isTicked: boolean;
  onTick(to: boolean): void;
}) {
  if (file.otherLists > 0)
    return (
      <p className="muted">
        The uploaded file stays: {counted(file.otherLists, "other list was", "other lists were")} made of it.
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
  const { file, error } = useFile(job);
  const [isTicked, setTicked] = useState(true);
  async function remove(): Promise<void> {
    // The file first: when the service refuses that, nothing has been deleted, and the box can be unticked.
    if (file?.otherLists === 0 && isTicked) await deleteUpload(file.id);
    await deleteJob(job.id);
    await forgetJobLists(queries);
    await navigate({ to: "/lists" });
    queries.removeQueries({ queryKey: jobKey(job.id) });
  }
  return (
    <ConfirmDialog trigger="Delete" title="Delete the list?" action="Delete" onConfirm={remove}>
      <p>
        The results of{" "}
        <strong>
          <ForeignText>{listName(job)}</ForeignText>
        </strong>{" "}
        are gone then, for the whole team. This cannot be taken back.
      </p>
      <Failure error={error} />
      {file !== null && <FileChoice file={file} isTicked={isTicked} onTick={setTicked} />}
    </ConfirmDialog>
  );
}
