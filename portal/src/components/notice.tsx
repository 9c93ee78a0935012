import { type ReactNode, useRef } from "react";
import { Problem } from "../api/client.ts";
import { mayPassLater } from "../api/retry.ts";
import { duration } from "../words/durations.ts";
import { Button } from "./button.tsx";
import { useFocusAfterRemoval } from "./focus-after-removal.ts";
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

interface FailureProps {
  error: unknown;
  /** Below the text, such as a button. */
  children?: ReactNode;
}

/** The reason of a failure, and advice; nothing without an error. */
export function Failure({ error, children }: FailureProps) {
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
      {children}
    </Notice>
  );
}

interface AgainProps {
  error: unknown;
  again(): unknown;
  /** It is being tried again. */
  busy: boolean;
}

function TryAgain({ again, busy }: Omit<AgainProps, "error">) {
  const row = useRef<HTMLParagraphElement>(null);
  const keepFocusNear = useFocusAfterRemoval(row);
  return (
    <p className="row" ref={row}>
      <Button
        busy={busy}
        onClick={() => {
          keepFocusNear();
          void again();
        }}
      >
        Try again
      </Button>
    </p>
  );
}

/** The same, with a button that tries again where that may help. */
export function FailureToRetry({ error, again, busy }: AgainProps) {
  return <Failure error={error}>{mayPassLater(error) && <TryAgain again={again} busy={busy} />}</Failure>;
}

interface Asked {
  error: unknown;
  refetch(): unknown;
  isFetching: boolean;
}

/** The failure of a query: shown above the data that it had read before, if any. */
export function QueryFailure({ of: { error, refetch, isFetching } }: { of: Asked }) {
  return <FailureToRetry error={error} again={refetch} busy={isFetching} />;
}
