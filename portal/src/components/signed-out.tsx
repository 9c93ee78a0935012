import { useQuery } from "@tanstack/react-query";
import { lostSession } from "../api/lost-session.ts";
import { identityQuery } from "../api/session.ts";
import { BASE_PATH } from "../base-path.ts";
import { ForeignText } from "./foreign-text.tsx";
import { Notice } from "./notice.tsx";

/**
 * Says on every page that the session has ended, or is one of another team. The page is not left: what was typed or pasted there
 * would be lost. The link leads to the page's own team: in another one the page could not go on.
 */
export function SignedOut() {
  const lost = lostSession.use();
  const { data: identity } = useQuery({ ...identityQuery, enabled: false });
  if (lost === null) return null;
  const team = identity?.team;
  const search = team === undefined ? "" : `?${new URLSearchParams({ team: team.id })}`;
  return (
    <Notice kind="failure">
      {lost === "signed out" ? (
        "You were signed out. "
      ) : (
        <>
          You are signed in to another team now, and this page is one of{" "}
          <ForeignText>{team?.name ?? "the team before"}</ForeignText>: it sends nothing.{" "}
        </>
      )}
      <a href={`${BASE_PATH}/sign-in${search}`} target="_blank" rel="noopener">
        Sign in in a new tab
      </a>
      , and come back: this page keeps what you have entered.
      {lost === "in another team" && (
        <>
          {" "}
          Or <a href={`${BASE_PATH}/`}>go to the other team</a>.
        </>
      )}
    </Notice>
  );
}
