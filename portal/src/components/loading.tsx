import { useEffect, useState } from "react";

/** Milliseconds that a wait has to last before it is shown. */
export const QUIET_MS = 200;

interface Props {
  /** True: the wait has lasted already. */
  atOnce?: boolean;
}

/** Shown while something loads; empty at first, since short waits need no notice. */
export function Loading({ atOnce = false }: Props) {
  const [isLong, setLong] = useState(atOnce);
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
