import { useEffect, useReducer } from "react";

/** Whole seconds until a time in milliseconds of the browser's clock, counted down; 0: it has passed, or there is none. */
export function useSecondsUntil(endMs: number | null): number {
  const [, drawAgain] = useReducer((times: number) => times + 1, 0);
  const leftS = endMs === null ? 0 : Math.max(0, Math.ceil((endMs - Date.now()) / 1_000));
  useEffect(() => {
    if (leftS === 0) return;
    const timer = setTimeout(drawAgain, 1_000);
    return () => clearTimeout(timer);
  });
  return leftS;
}
