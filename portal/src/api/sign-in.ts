import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "./client.ts";

/** What this deployment offers to who is not signed in. */
export const signInOptionsQuery = queryOptions({
  queryKey: ["sign-in options"],
  queryFn: () => dataOf(api.GET("/v1/auth/options")),
  staleTime: Number.POSITIVE_INFINITY,
});

/**
 * The token of a mailed link, which stands behind `#` so that it is in no request; it leaves the address bar, and with it the
 * history, at once. "": there is none.
 */
export function takeLinkToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (token !== "") history.replaceState(history.state, "", location.pathname);
  return token;
}
