import type { ReactNode } from "react";
import { Problem } from "../api/client.ts";

/** Something to know; a failure is read out at once. */
export function Notice({ kind, children }: { kind?: "failure" | "success"; children: ReactNode }) {
  return (
    <div className={`notice ${kind ?? ""}`} role={kind === "failure" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/** What to do about it, where that does not follow from what is said already. */
function adviceOf(error: unknown): string | null {
  if (!(error instanceof Problem)) return null;
  if (error.status === 0) return "Look at your connection, and try again.";
  if (error.retryAfterS !== null) return `Try again in ${error.retryAfterS} s.`;
  if (error.status >= 500) return "Try again in a moment.";
  return null;
}

/** Why something did not work, and what to do; nothing where there is no error. */
export function Failure({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null;
  const says = error instanceof Error ? error.message : String(error);
  const advice = adviceOf(error);
  const id = error instanceof Problem ? error.body?.request_id : undefined;
  return (
    <Notice kind="failure">
      <p className="wrap-anywhere">
        {says} {advice}
      </p>
      {id !== undefined && error instanceof Problem && error.status >= 500 && (
        <p className="muted mono">{id}</p>
      )}
    </Notice>
  );
}
