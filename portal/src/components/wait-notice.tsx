import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { retryAtMsOf } from "../api/retry.ts";
import { duration } from "../words/durations.ts";
import { useSecondsUntil } from "./use-seconds-until.ts";

/** Notice on every page that the API asked it to wait, with the time at which it continues. */
export function WaitNotice() {
  const cache = useQueryClient().getQueryCache();
  const endMs = useSyncExternalStore(
    (onChange) => cache.subscribe(onChange),
    () =>
      cache
        .findAll({ fetchStatus: "fetching" })
        .reduce((latest, { state }) => Math.max(latest, retryAtMsOf(state.fetchFailureReason) ?? 0), 0),
  );
  const leftS = useSecondsUntil(endMs);
  if (leftS === 0) return null;
  return (
    <div className="notice" role="status">
      The service is busy, or was asked too much at once. This page goes on by itself
      {/* Not read out each second. */}
      <span aria-hidden="true"> in {duration(leftS)}</span>.
    </div>
  );
}
