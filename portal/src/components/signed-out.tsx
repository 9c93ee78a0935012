import { sessionLost } from "../api/lost-session.ts";
import { BASE_PATH } from "../base-path.ts";
import { Notice } from "./notice.tsx";

/** Says on every page that the session has ended. The page is not left: what was typed or pasted there would be lost. */
export function SignedOut() {
  if (!sessionLost.use()) return null;
  return (
    <Notice kind="failure">
      You were signed out.{" "}
      <a href={`${BASE_PATH}/sign-in`} target="_blank" rel="noopener">
        Sign in in a new tab
      </a>
      , and come back: this page keeps what you have entered.
    </Notice>
  );
}
