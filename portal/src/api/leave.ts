import { BASE_PATH } from "../base-path.ts";

/** Loads the sign-in page, so that no data of the session is left in memory. */
export function leaveForSignIn(): void {
  location.assign(`${BASE_PATH}/sign-in`);
}
