import { Link, useSearch } from "@tanstack/react-router";
import { useHasLists } from "../../../api/plans.ts";
import { useIdentity } from "../../../api/session.ts";
import { ChooseFile } from "../../../components/forms/choose-file.tsx";
import { useTitle } from "../../../components/page-head.tsx";
import { NoLists, NoProbing } from "../../../components/plan-limits.tsx";
import { beginUpload, useCurrentUpload } from "../../../uploads/current-upload.ts";
import { Interrupted } from "./interrupted.tsx";
import { Paste } from "./paste.tsx";
import { PreviewUpload } from "./preview.tsx";
import { Sending } from "./sending.tsx";
import { UnusedFiles } from "./unused-files.tsx";

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
      <UnusedFiles hasLists />
    </>
  );
}

/** A file that is being sent or previewed, or else the sources to choose from. */
function Beginning() {
  const { upload, column } = useSearch({ from: "/frame/lists/new" });
  const sending = useCurrentUpload();
  if (upload !== undefined)
    return <PreviewUpload key={`${upload} ${column}`} uploadId={upload} column={column} />;
  return sending === null ? <Sources /> : <Sending upload={sending} />;
}

/**
 * Begins a list: a file is sent and previewed, then verified; pasted addresses are verified at once. A plan without lists
 * gets no forms: the service would refuse each.
 */
export function NewListPage() {
  const hasLists = useHasLists();
  return (
    <>
      <div>
        <Link to="/lists">All lists</Link>
        <h1 {...useTitle("New list")}>New list</h1>
      </div>
      {hasLists ? <NoProbing /> : <NoLists />}
      {hasLists && <Beginning />}
    </>
  );
}
