import { BASE_PATH } from "../base-path.ts";

/**
 * Loads the sign-in page, so that no data of the session is left in memory.
 * @param next page to return to, below BASE_PATH
 */
export function leaveForSignIn(next?: string): void {
  const search = next === undefined || next === "/" ? "" : `?${new URLSearchParams({ next })}`;
  location.assign(`${BASE_PATH}/sign-in${search}`);
}
