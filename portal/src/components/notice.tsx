import type { ReactNode } from "react";
import { Problem } from "../api/client.ts";
import { duration } from "../words/durations.ts";
import { useSecondsUntil } from "./use-seconds-until.ts";

/** Something to know; a failure is read out at once. */
export function Notice({ kind, children }: { kind?: "failure" | "success"; children: ReactNode }) {
  return (
    <div className={`notice ${kind ?? ""}`} role={kind === "failure" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/** Advice, if the message does not contain it. */
function adviceOf(error: unknown, hasToWait: boolean): string | null {
  if (!(error instanceof Problem)) return null;
  if (error.status === 0) return "Look at your connection, and try again.";
  // Not counted down: each change would be read out.
  if (error.retryAfterS !== null)
    return hasToWait ? `Try again in ${duration(error.retryAfterS)}.` : "Try again now.";
  if (error.status >= 500) return "Try again in a moment.";
  return null;
}

/** The reason of a failure, and advice; nothing without an error. */
export function Failure({ error }: { error: unknown }) {
  const leftS = useSecondsUntil(error instanceof Problem ? error.retryAtMs : null);
  if (error === null || error === undefined) return null;
  const says = error instanceof Error ? error.message : String(error);
  const advice = adviceOf(error, leftS > 0);
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
