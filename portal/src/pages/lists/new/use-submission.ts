import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Problem } from "../../../api/client.ts";
import type { BulkJob } from "../../../words/jobs.ts";
import { forgetJobLists } from "../use-job.ts";

type IdempotencyHeader = { "Idempotency-Key": string };

/** Submits a list, once: what was sent and not answered is sent again under the same key, and costs once. */
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
      // It was refused: whatever is sent next is another question. After a failure it is not known whether it was taken.
      if (thrown instanceof Problem && thrown.status >= 400 && thrown.status < 500) key.current = null;
      setError(thrown);
      return null;
    } finally {
      setBusy(false);
    }
  }
  return { busy, error, send };
}
