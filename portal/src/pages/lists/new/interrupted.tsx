import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useIdentity } from "../../../api/session.ts";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { ForeignText } from "../../../components/foreign-text.tsx";
import { ChooseFile } from "../../../components/forms/choose-file.tsx";
import { Notice } from "../../../components/notice.tsx";
import { beginUpload } from "../../../uploads/current-upload.ts";
import { deleteUpload } from "../../../uploads/file-upload.ts";
import { fingerprintOf } from "../../../uploads/fingerprint.ts";
import { forgetUpload, type KeptUpload, useKeptUploads } from "../../../uploads/kept-uploads.ts";
import { readUpload } from "../../../uploads/read-upload.ts";
import { isBeingSent } from "../../../uploads/upload-lock.ts";
import { byteSize } from "../../../words/bytes.ts";

const ELSEWHERE_POLL_MS = 2_000;

/** One interrupted upload; nothing once it proves to be complete, or gone. */
function InterruptedUpload({ of: kept }: { of: KeptUpload }) {
  const { team } = useIdentity();
  const [isOther, setOther] = useState(false);
  const upload = useQuery({
    queryKey: ["interrupted upload", kept.id],
    queryFn: async () => ({ upload: await readUpload(kept.id), isElsewhere: await isBeingSent(kept.id) }),
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.isElsewhere === true ? ELSEWHERE_POLL_MS : false),
  });
  const isOver = upload.data?.upload === null || upload.data?.upload.status === "stored";
  useEffect(() => {
    if (isOver) forgetUpload(kept.id);
  }, [isOver, kept.id]);
  async function goOn(file: File): Promise<void> {
    const isSame = file.size === kept.bytes && (await fingerprintOf(file)) === kept.fingerprint;
    setOther(!isSame);
    if (isSame) beginUpload(file, team.id, kept);
  }
  if (upload.data === undefined || isOver) return null;
  if (upload.data.isElsewhere)
    return (
      <Notice>
        Another tab is sending <ForeignText>{kept.name}</ForeignText>. Leave it open until it is done.
      </Notice>
    );
  return (
    <section className="card" aria-label={`Interrupted upload: ${kept.name}`}>
      <div className="page-head">
        <h2>
          An upload was interrupted: <ForeignText>{kept.name}</ForeignText>
        </h2>
        <ConfirmDialog
          trigger="Give up"
          title="Give up this upload?"
          action="Give up"
          dismissal="Keep it"
          onConfirm={() => deleteUpload(kept.id)}
        >
          <p>What was sent of it is deleted. It has cost nothing.</p>
        </ConfirmDialog>
      </div>
      <ChooseFile
        label="Go on with the same file"
        hint={`${byteSize(kept.bytes)}. Only what is missing is sent: the browser must be given the file again for that.`}
        onFile={(file) => void goOn(file)}
      />
      {isOther && (
        <Notice kind="failure">
          That is another file: it has another size or content. Choose{" "}
          <strong>
            <ForeignText>{kept.name}</ForeignText>
          </strong>{" "}
          as it was, or give this upload up.
        </Notice>
      )}
    </section>
  );
}

/** Uploads that were interrupted in this browser. */
export function Interrupted() {
  const { team } = useIdentity();
  return useKeptUploads(team.id).map((kept) => <InterruptedUpload key={kept.id} of={kept} />);
}
