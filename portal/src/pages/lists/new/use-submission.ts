import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Problem } from "../../../api/client.ts";
import type { BulkJob } from "../../../words/jobs.ts";
import { forgetJobLists } from "../use-job.ts";

type IdempotencyHeader = { "Idempotency-Key": string };

/** Submits a list once. A submission without an answer is repeated under the same key, and charged once. */
export function useSubmission() {
  const queries = useQueryClient();
  const key = useRef<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  async function send(submit: (header: IdempotencyHeader) => Promise<BulkJob>): Promise<BulkJob | null> {
    key.current ??= crypto.randomUUID();
    setBusy(true);
    setError(null);
    try {
      const job = await submit({ "Idempotency-Key": key.current });
      await forgetJobLists(queries);
      return job;
    } catch (thrown) {
      // A refusal ends the submission: the next one gets a new key. After a failure it is unknown whether the job was
      // created.
      if (thrown instanceof Problem && thrown.status >= 400 && thrown.status < 500) key.current = null;
      setError(thrown);
      return null;
    } finally {
      setBusy(false);
    }
  }
  return { busy, error, send };
}
