import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, dataOf } from "../../../api/client.ts";
import type { operations } from "../../../api/schema.d.ts";
import { sendWhenAllowed } from "../../../api/send-each.ts";
import type { BulkJob } from "../../../words/jobs.ts";
import { forgetJobLists } from "../use-job.ts";
import { SubmissionKeys } from "./submission-keys.ts";

type Submission = operations["submitBulk"]["requestBody"]["content"]["application/json"];

/** Kept while the portal is open in its tab: its person may look at other pages, or choose another column, between two attempts. */
const keys = new SubmissionKeys();

/**
 * Submits a list once, however often it is tried. While the service still works on an attempt whose answer was lost, or is
 * asked too fast, the request is repeated when the service says.
 */
export function useSubmission() {
  const queries = useQueryClient();
  const control = useRef(new AbortController());
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => () => control.current.abort(), []);

  /** @returns null: it was not accepted, and `error` says why */
  async function send(body: Submission): Promise<BulkJob | null> {
    const text = JSON.stringify(body);
    const header = { "Idempotency-Key": keys.keyOf(text) };
    control.current = new AbortController();
    setBusy(true);
    setError(null);
    try {
      const job = await sendWhenAllowed(
        () => dataOf(api.POST("/v1/verify/bulk", { params: { header }, body })),
        control.current.signal,
      );
      keys.forget(text);
      await forgetJobLists(queries);
      return job;
    } catch (thrown) {
      setError(thrown);
      return null;
    } finally {
      setBusy(false);
    }
  }
  return { busy, error, send };
}
