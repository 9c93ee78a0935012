import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "./client.ts";

/** The deployment's options for people who are not signed in. */
export const signInOptionsQuery = queryOptions({
  queryKey: ["sign-in options"],
  queryFn: () => dataOf(api.GET("/v1/auth/options")),
  staleTime: Number.POSITIVE_INFINITY,
});

/**
 * Takes the token of a mailed link from behind `#`, so that no request contains it. It is removed from the address bar, and
 * with it from the history, at once. "": no token.
 */
export function takeLinkToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (token !== "") history.replaceState(history.state, "", location.pathname);
  return token;
}
