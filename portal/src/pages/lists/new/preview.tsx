import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, dataOf } from "../../../api/client.ts";
import { Button } from "../../../components/button.tsx";
import { ForeignText } from "../../../components/foreign-text.tsx";
import { Loading } from "../../../components/loading.tsx";
import { Failure } from "../../../components/notice.tsx";
import { byteSize } from "../../../words/bytes.ts";
import { addressesFound, CHOSEN_BY, columnTitle } from "../layout-words.ts";
import { Warnings } from "../source-facts.tsx";
import { Cost } from "./cost.tsx";
import { estimateOf } from "./estimate.ts";
import { ColumnChoice, ReadingOptions } from "./file-options.tsx";
import { JobOptionsForm, NO_OPTIONS } from "./job-options.tsx";
import { PreviewProblem } from "./preview-problem.tsx";
import { PreviewTable } from "./preview-table.tsx";
import { type FileOptions, type Preview, usePreview } from "./use-preview.ts";
import { useSubmission } from "./use-submission.ts";

/** The chosen column, and the reason. */
function ChosenColumn({ preview: { layout, candidates } }: { preview: Preview }) {
  const { email } = layout;
  const found = candidates.find(({ index }) => index === email.index);
  return (
    <p role="status">
      Addresses are read from{" "}
      <strong>
        <ForeignText>{columnTitle(email)}</ForeignText>
      </strong>
      : {CHOSEN_BY[email.chosen_by]}.{" "}
      {found !== undefined && <span className="muted">{addressesFound(found)}.</span>}
    </p>
  );
}

interface SubmitProps {
  uploadId: string;
  fileOptions: FileOptions;
  preview: Preview;
  /** True when the preview was made with these options. */
  isCurrent: boolean;
}

/** Submits the upload with exactly the options that were previewed. */
function Submit({ uploadId, preview, fileOptions, isCurrent }: SubmitProps) {
  const navigate = useNavigate();
  const submission = useSubmission();
  const [jobOptions, setJobOptions] = useState(NO_OPTIONS);
  async function submit(): Promise<void> {
    const body = { upload_id: uploadId, ...fileOptions, ...jobOptions };
    const job = await submission.send(body);
    if (job !== null) await navigate({ to: "/lists/$id", params: { id: job.id } });
  }
  return (
    <section className="card" aria-labelledby="submit">
      <h2 id="submit">Verify</h2>
      <JobOptionsForm options={jobOptions} onChange={setJobOptions} sample={preview.sample} />
      <Cost preview={preview} splitCells={jobOptions.split_cells} />
      <Failure error={submission.error} />
      <div className="row">
        <Button look="primary" busy={submission.busy || !isCurrent} onClick={() => void submit()}>
          Verify {estimateOf(preview, jobOptions.split_cells)?.rows ?? "the list"}
        </Button>
      </div>
    </section>
  );
}

/** How an upload would be read, the options for that, and the button that verifies it. Only that costs anything. */
export function PreviewUpload({ uploadId, column }: { uploadId: string; column: number | undefined }) {
  const [fileOptions, setFileOptions] = useState<FileOptions>(
    column === undefined ? {} : { email_column: column },
  );
  const path = { upload: uploadId };
  const upload = useQuery({
    queryKey: ["upload", uploadId],
    queryFn: () => dataOf(api.GET("/v1/uploads/{upload}", { params: { path } })),
  });
  const preview = usePreview(uploadId, fileOptions);
  const { data, error, known, isFetching } = preview;
  return (
    <>
      <section className="card" aria-labelledby="preview">
        <div className="page-head">
          <h2 id="preview">
            {upload.data === undefined ? "Preview" : <ForeignText>{upload.data.filename}</ForeignText>}
          </h2>
          <span className="row muted">
            {upload.data?.bytes != null && byteSize(upload.data.bytes)}
            <Link to="/lists/new">Another file</Link>
          </span>
        </div>
        {(preview.isPending || preview.isPlaceholderData) && <Loading />}
        {error !== null && (
          <PreviewProblem
            error={error}
            onColumn={(index) => setFileOptions({ ...fileOptions, email_column: index })}
          />
        )}
        {data !== undefined && (
          <div className="stack" aria-busy={isFetching}>
            <ChosenColumn preview={data} />
            <div className="narrow">
              <ColumnChoice options={fileOptions} onChange={setFileOptions} known={data} />
            </div>
            <PreviewTable preview={data} />
            <Warnings warnings={data.warnings} />
          </div>
        )}
        {(known !== null || error !== null) && (
          <details open={error !== null}>
            <summary>Read the file in another way</summary>
            <ReadingOptions options={fileOptions} onChange={setFileOptions} known={known} />
          </details>
        )}
      </section>
      {data !== undefined && (
        <Submit
          uploadId={uploadId}
          preview={data}
          fileOptions={fileOptions}
          isCurrent={!preview.isPlaceholderData}
        />
      )}
    </>
  );
}
