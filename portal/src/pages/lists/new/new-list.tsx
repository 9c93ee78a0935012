import { Link, useSearch } from "@tanstack/react-router";
import { useOwnPlan } from "../../../api/plans.ts";
import { useIdentity } from "../../../api/session.ts";
import { ChooseFile } from "../../../components/choose-file.tsx";
import { useTitle } from "../../../components/page-head.tsx";
import { NoLists, NoProbing } from "../../../components/plan-limits.tsx";
import { beginUpload, useCurrentUpload } from "../../../uploads/current-upload.ts";
import { Interrupted } from "./interrupted.tsx";
import { Paste } from "./paste.tsx";
import { PreviewUpload } from "./preview.tsx";
import { Sending } from "./sending.tsx";
import { WaitingUploads } from "./waiting-uploads.tsx";

/** Sources of a list: a file, or text. */
function Sources() {
  const { team } = useIdentity();
  const begin = (file: File) => beginUpload(file, team.id);
  return (
    <>
      <Interrupted />
      <section className="card" aria-labelledby="file">
        <h2 id="file">Upload a file</h2>
        <ChooseFile
          label="Drop a file here, or choose one"
          hint="CSV, TSV, text or Excel (.xlsx), also compressed (.gz). You see how it is read before it costs anything."
          onFile={begin}
        />
      </section>
      <section className="card" aria-labelledby="paste">
        <h2 id="paste">Or paste addresses</h2>
        <Paste onFile={begin} />
      </section>
      <WaitingUploads />
    </>
  );
}

/** Begins a list: a file is sent and previewed, then verified; pasted addresses are verified at once. */
export function NewListPage() {
  const { upload, column } = useSearch({ from: "/frame/lists/new" });
  const sending = useCurrentUpload();
  const hasLists = useOwnPlan()?.bulk_bytes !== 0;
  return (
    <>
      <div>
        <Link to="/lists">All lists</Link>
        <h1 {...useTitle("New list")}>New list</h1>
      </div>
      {hasLists ? <NoProbing /> : <NoLists />}
      {upload !== undefined ? (
        <PreviewUpload key={`${upload} ${column}`} uploadId={upload} column={column} />
      ) : sending === null ? (
        <Sources />
      ) : (
        <Sending upload={sending} />
      )}
    </>
  );
}
