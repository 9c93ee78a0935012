import { useMutation } from "@tanstack/react-query";
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { isFirstTime, MissingFile, reloadWhenServed } from "../page-files.ts";
import { isSendingFile } from "../uploads/current-upload.ts";
import { Button } from "./button.tsx";
import { Entrance } from "./entrance.tsx";
import { Failure, FailureToRetry } from "./notice.tsx";
import { PageHead } from "./page-head.tsx";

/**
 * In place of what a file that did not come would show. Browsers do not ask for it again before the page is loaded again: that is done
 * at once, since a newer version of the portal has other files. Without a connection, or while a file is sent, the person decides.
 */
export function Missing({ error }: { error: Error }) {
  const { mutate, isPending, error: failure } = useMutation({ mutationFn: reloadWhenServed });
  useEffect(() => {
    if (!isSendingFile() && isFirstTime(error)) mutate();
  }, [error, mutate]);
  return (
    <>
      <Failure error={error}>
        {isSendingFile() && (
          <p>Loading the page again stops the file that is being sent: wait for it first.</p>
        )}
        <p className="row">
          <Button busy={isPending} onClick={() => mutate()}>
            Load the page again
          </Button>
        </p>
      </Failure>
      <Failure error={failure} />
    </>
  );
}

function Why({ error }: { error: unknown }) {
  const router = useRouter();
  const again = useMutation({ mutationFn: () => router.invalidate() });
  if (error instanceof MissingFile) return <Missing error={error} />;
  return <FailureToRetry error={error} again={again.mutate} busy={again.isPending} />;
}

const TITLE = "This page cannot be shown";

/** Within the frame, in place of a page that failed. */
export function BrokenPage({ error }: ErrorComponentProps) {
  return (
    <>
      <PageHead title={TITLE} />
      <Why error={error} />
    </>
  );
}

/** The same where there is no frame. */
export function BrokenEntrance({ error }: ErrorComponentProps) {
  return (
    <Entrance title={TITLE}>
      <Why error={error} />
    </Entrance>
  );
}
