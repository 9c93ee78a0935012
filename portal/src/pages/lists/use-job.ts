import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { api, dataOf } from "../../api/client.ts";
import { followJob } from "../../api/follow-job.ts";
import { type BulkJob, hasEnded } from "../../words/jobs.ts";

/** Cache key of all lists. */
export const jobsKey = ["jobs"];
/** Cache key of the files of which there is no list. */
export const unusedFilesKey = ["unused files"];
export const jobKey = (id: string) => ["job", id];

/** A connection that is back by then was not missed. */
const LOST_AFTER_MS = 2_000;

/** Invalidates the data that depends on a job: the list of jobs, the usage, and the files without one. */
export async function forgetJobLists(queries: QueryClient): Promise<void> {
  await Promise.all(
    [jobsKey, ["usage"], unusedFilesKey].map((queryKey) => queries.invalidateQueries({ queryKey })),
  );
}

function subscribeToVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

/** Whether the page is in a tab that is not shown, or in a window that is minimised. */
const useIsHidden = () => useSyncExternalStore(subscribeToVisibility, () => document.hidden);

/**
 * A job, kept current while it runs and the page is shown. A browser opens six connections to a host over HTTP/1.1, of which
 * each page that follows a job holds one: without pauses in hidden tabs six lists would block every other request.
 * The first event of a connection is the job as it is then, so a pause loses nothing.
 */
export function useJob(id: string) {
  const queries = useQueryClient();
  const job = useQuery({
    queryKey: jobKey(id),
    queryFn: () => dataOf(api.GET("/v1/bulk-jobs/{id}", { params: { path: { id } } })),
  });
  const [isLost, setLost] = useState(false);
  const isMoving = job.data !== undefined && !hasEnded(job.data);
  const isHidden = useIsHidden();
  useEffect(() => {
    if (!isMoving || isHidden) return;
    const control = new AbortController();
    let timer = 0;
    const found = () => {
      clearTimeout(timer);
      timer = 0;
      setLost(false);
    };
    const listener = {
      onJob(next: BulkJob) {
        found();
        queries.setQueryData(jobKey(id), next);
        if (hasEnded(next)) void forgetJobLists(queries);
      },
      onLost() {
        timer ||= window.setTimeout(() => setLost(true), LOST_AFTER_MS);
      },
    };
    followJob(id, listener, control.signal).catch(() => {
      // The job is gone, or may not be followed. Requesting it shows which.
      if (!control.signal.aborted) void queries.invalidateQueries({ queryKey: jobKey(id) });
    });
    return () => {
      control.abort();
      found();
    };
  }, [id, isMoving, isHidden, queries]);
  return { ...job, isLost };
}
