import { useEffect, useState } from "react";

const QUIET_MS = 200;

/** Shown while a page loads; empty at first, since short waits need no notice. */
export function Loading() {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="row muted" role="status">
      {isLong && (
        <>
          <span className="spinner" aria-hidden="true" /> Loading…
        </>
      )}
    </p>
  );
}
