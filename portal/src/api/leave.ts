import { BASE_PATH } from "../base-path.ts";

/** Loads the page for signing in, so that nothing of what was shown stays. @param next where to go from there, below BASE_PATH */
export function leaveForSignIn(next?: string): void {
  const search = next === undefined || next === "/" ? "" : `?${new URLSearchParams({ next })}`;
  location.assign(`${BASE_PATH}/sign-in${search}`);
}
