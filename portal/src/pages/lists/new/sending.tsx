import { useNavigate } from "@tanstack/react-router";
import { useEffect, useId } from "react";
import { Button } from "../../../components/button.tsx";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { ForeignText } from "../../../components/foreign-text.tsx";
import { Failure, Notice } from "../../../components/notice.tsx";
import { leaveUpload, useUploadState } from "../../../uploads/current-upload.ts";
import type { FileUpload, UploadState } from "../../../uploads/file-upload.ts";
import { forgetPasted } from "../../../uploads/pasted-text.ts";
import { byteSize } from "../../../words/bytes.ts";
import { duration } from "../../../words/durations.ts";
import { percent } from "../../../words/numbers.ts";

const PHASES: Readonly<Record<UploadState["phase"], string>> = {
  sending: "Sending",
  paused: "Paused",
  completing: "Completing",
  stored: "Sent",
  failed: "Stopped",
};

function paceOf({ bytesPerS, sentBytes }: UploadState, totalBytes: number): string {
  if (bytesPerS === null || bytesPerS === 0) return "";
  return `${byteSize(bytesPerS)}/s · about ${duration((totalBytes - sentBytes) / bytesPerS)} left`;
}

function Controls({ upload, state }: { upload: FileUpload; state: UploadState }) {
  const { phase, isThroughApi } = state;
  if (phase === "completing" || phase === "stored") return null;
  async function giveUp(): Promise<void> {
    await upload.giveUp();
    leaveUpload(upload);
  }
  return (
    <div className="row">
      {phase === "sending" && !isThroughApi && <Button onClick={upload.pause}>Pause</Button>}
      {phase === "paused" && (
        <Button look="primary" onClick={upload.start}>
          Go on
        </Button>
      )}
      {phase === "failed" && (
        <Button look="primary" onClick={upload.start}>
          Try again
        </Button>
      )}
      <ConfirmDialog
        trigger="Give up"
        title="Give up this upload?"
        action="Give up"
        dismissal="Keep it"
        onConfirm={giveUp}
      >
        <p>What was sent of it is deleted. It has cost nothing.</p>
      </ConfirmDialog>
    </div>
  );
}

/** The file that is being sent, and how far it is. */
export function Sending({ upload }: { upload: FileUpload }) {
  const id = useId();
  const navigate = useNavigate();
  const state = useUploadState(upload);
  const { phase, isLost, isThroughApi, sentBytes, uploadId } = state;
  const { name, size } = upload.file;
  useEffect(() => {
    if (phase !== "stored" || uploadId === null) return;
    forgetPasted(upload.file);
    // Not earlier: until the preview is shown, this page shows the upload.
    void navigate({ to: "/lists/new", search: { upload: uploadId }, replace: true }).then(() =>
      leaveUpload(upload),
    );
  }, [phase, uploadId, upload, navigate]);
  return (
    <section className="card" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>
        <ForeignText>{name}</ForeignText>
      </h2>
      <div className="stack">
        <div className="page-head">
          <label htmlFor={id}>
            {PHASES[phase]}: <strong>{byteSize(sentBytes)}</strong> of {byteSize(size)}
          </label>
          <span className="muted number">{paceOf(state, size)}</span>
        </div>
        <progress id={id} max={size} value={sentBytes} />
      </div>
      <p className="visually-hidden" role="status">
        {PHASES[phase]}.{" "}
        {phase === "sending" && `${percent(Math.floor((sentBytes / size) * 4) / 4)} is sent.`}
      </p>
      {isLost && (
        <Notice>
          The connection is lost; trying again by itself.{" "}
          {isThroughApi ? "The file is sent from its beginning then." : "Nothing that was sent is lost."}
        </Notice>
      )}
      {isThroughApi && phase === "sending" && (
        <Notice>
          Your browser cannot reach the object storage, so the file goes through the API. It cannot be paused,
          and this page must stay open.
        </Notice>
      )}
      <Failure error={state.error} />
      <Controls upload={upload} state={state} />
    </section>
  );
}
