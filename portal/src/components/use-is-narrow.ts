import { useSyncExternalStore } from "react";

/** The width below which the style sheets narrow tables and the frame down, too. */
const NARROW = matchMedia("(max-width: 48rem)");

function subscribe(onChange: () => void): () => void {
  NARROW.addEventListener("change", onChange);
  return () => NARROW.removeEventListener("change", onChange);
}

/** Whether the window is too narrow for all columns of a table. */
export const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => NARROW.matches);
