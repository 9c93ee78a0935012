import { QueryClient } from "@tanstack/react-query";
import { Problem } from "./client.ts";

const RETRIES = 2;
/** Attempts that end with the API asking for a wait. */
const WAITS = 5;
/** The API may ask for a longer wait, such as until the next day: that is for the person to decide. */
const WAIT_MAX_S = 60;
const RETRY_DELAY_MS = 1_000;

/** When a page that was asked to wait asks again by itself, in milliseconds of the browser's clock; null: it does not. */
export function retryAtMsOf(error: unknown): number | null {
  const isWait = error instanceof Problem && (error.status === 429 || error.status === 503);
  return isWait && error.retryAfterS !== null && error.retryAfterS <= WAIT_MAX_S ? error.retryAtMs : null;
}

/** Refused requests would be refused again. Requests that did not reach the API, or came too fast, may succeed. */
function isWorthRetrying(failures: number, error: Error): boolean {
  if (retryAtMsOf(error) !== null) return failures < WAITS;
  return failures < RETRIES && error instanceof Problem && (error.status === 0 || error.status === 503);
}

function retryDelayMs(failures: number, error: Error): number {
  const retryAtMs = retryAtMsOf(error);
  return retryAtMs === null ? RETRY_DELAY_MS * 2 ** failures : Math.max(0, retryAtMs - Date.now());
}

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: isWorthRetrying, retryDelay: retryDelayMs, staleTime: 10_000 } },
});
