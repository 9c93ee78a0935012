import { type ReactNode, useRef, useState } from "react";
import { api, Problem } from "../../api/client.ts";
import { Failure } from "../../components/notice.tsx";
import { type ResultFilter, resultsHref } from "./read-results.ts";

/** Reads one row, so that every refusal of a download is an error here. @throws Problem */
async function ensureServed(id: string): Promise<void> {
  const query = { format: "jsonl" as const, limit: 1 };
  await api.GET("/v1/bulk-jobs/{id}/results", { params: { path: { id }, query }, parseAs: "text" });
}

interface Props {
  /** Of the job. */
  id: string;
  format: "csv" | "jsonl";
  filter: ResultFilter;
  /** Called with null before each attempt, and with the reason why there is no file. */
  onError(error: unknown): void;
  label?: string;
  children: ReactNode;
}

/**
 * A link to results as a file, which the browser saves as it arrives. The service is asked first, since a refusal of the file
 * itself could not be shown: `download` keeps the page open when the file is refused all the same.
 */
export function DownloadLink({ id, format, filter, onError, label, children }: Props) {
  const [busy, setBusy] = useState(false);
  const isServed = useRef(false);
  async function begin(link: HTMLAnchorElement): Promise<void> {
    setBusy(true);
    onError(null);
    try {
      await ensureServed(id);
      isServed.current = true;
      link.click();
    } catch (error) {
      onError(error);
    } finally {
      isServed.current = false;
      setBusy(false);
    }
  }
  return (
    <a
      href={resultsHref(id, format, filter)}
      download
      aria-label={label}
      aria-busy={busy}
      onClick={(event) => {
        if (isServed.current) return;
        event.preventDefault();
        if (!busy) void begin(event.currentTarget);
      }}
    >
      {busy && <span className="spinner" aria-hidden="true" />}
      {children}
    </a>
  );
}

/** Why there is no file; nothing without an error. */
export function DownloadFailure({ error }: { error: unknown }) {
  return (
    <>
      <Failure error={error} />
      {error instanceof Problem && error.status === 429 && (
        <p className="muted">Other downloads of the team may be running: wait until one of them is done.</p>
      )}
    </>
  );
}
