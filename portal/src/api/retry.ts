import { Problem } from "./problem.ts";

const RETRIES = 2;
/** Attempts that end with the API asking for a wait. */
const WAITS = 5;
/** The API may ask for a longer wait, such as until the next day: that is for the person to decide. */
const WAIT_MAX_S = 60;
const RETRY_DELAY_MS = 1_000;

/** True for temporary failures: no answer, or a service that is overloaded, fails or starts. */
export const mayPass = (status: number): boolean => status === 0 || status === 429 || status >= 500;

/** Whether the same request may succeed later. One that was refused would be refused again. */
export const mayPassLater = (error: unknown): boolean => !(error instanceof Problem) || mayPass(error.status);

/** When a page that was asked to wait asks again by itself, in milliseconds of the browser's clock; null: it does not. */
export function retryAtMsOf(error: unknown): number | null {
  const isWait = error instanceof Problem && (error.status === 429 || error.status === 503);
  return isWait && error.retryAfterS !== null && error.retryAfterS <= WAIT_MAX_S ? error.retryAtMs : null;
}

/** Whether a read is repeated. Those that came too fast wait as long as the API says; while a service starts, its proxy answers 502. */
export function isWorthRetrying(failures: number, error: Error): boolean {
  if (retryAtMsOf(error) !== null) return failures < WAITS;
  return failures < RETRIES && error instanceof Problem && error.status !== 429 && mayPass(error.status);
}

export function retryDelayMs(failures: number, error: Error): number {
  const retryAtMs = retryAtMsOf(error);
  return retryAtMs === null ? RETRY_DELAY_MS * 2 ** failures : Math.max(0, retryAtMs - Date.now());
}
