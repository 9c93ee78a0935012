import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { followJob } from "../../api/follow-job.ts";
import { type BulkJob, hasEnded } from "../../words/jobs.ts";

/** Cache key of all lists. */
export const jobsKey = ["jobs"];
export const jobKey = (id: string) => ["job", id];

/** A connection that is back by then was not missed. */
const LOST_AFTER_MS = 2_000;

/** Invalidates the data that depends on a job: the list of jobs, and the usage. */
export async function forgetJobLists(queries: QueryClient): Promise<void> {
  await Promise.all([jobsKey, ["usage"]].map((queryKey) => queries.invalidateQueries({ queryKey })));
}

/** A job, kept current while it runs. */
export function useJob(id: string) {
  const queries = useQueryClient();
  const job = useQuery({
    queryKey: jobKey(id),
    queryFn: () => dataOf(api.GET("/v1/bulk-jobs/{id}", { params: { path: { id } } })),
  });
  const [isLost, setLost] = useState(false);
  const isMoving = job.data !== undefined && !hasEnded(job.data);
  useEffect(() => {
    if (!isMoving) return;
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
  }, [id, isMoving, queries]);
  return { ...job, isLost };
}
