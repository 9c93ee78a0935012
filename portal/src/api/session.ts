import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { redirect } from "@tanstack/react-router";
import { api, dataOf, Problem, type Schemas } from "./client.ts";
import { leaveForSignIn } from "./leave.ts";
import { sessionLost } from "./lost-session.ts";
import { persistently } from "./persistently.ts";
import { queryClient } from "./query-client.ts";

export type Identity = Awaited<ReturnType<typeof readIdentity>>;
export type Role = Schemas["OwnTeam"]["role"];

const readIdentity = () => dataOf(api.GET("/v1/auth/me"));
const RANK: Record<Role, number> = { member: 0, admin: 1, owner: 2 };

/** The signed-in person, and the team. */
export const identityQuery = queryOptions({ queryKey: ["me"], queryFn: readIdentity, staleTime: 60_000 });

/** Guards pages for signed-in people. Others are redirected to the sign-in page, and return after it. */
export async function requireSession(at: { pathname: string; searchStr: string }): Promise<void> {
  try {
    await queryClient.ensureQueryData(identityQuery);
  } catch (error) {
    if (error instanceof Problem && error.status === 401)
      throw redirect({
        to: "/sign-in",
        search: at.pathname === "/" ? {} : { next: at.pathname + at.searchStr },
      });
    throw error;
  }
}

export function useIdentity(): Identity {
  return useSuspenseQuery(identityQuery).data;
}

/** Whether the signed-in person has at least this role in the team. */
export function useHasRole(role: Role): boolean {
  return RANK[useIdentity().role] >= RANK[role];
}

/** Whether two identities may see the same: one person in one team. */
const isSame = (one: Identity, other: Identity): boolean =>
  one.user?.id === other.user?.id && one.team.id === other.team.id;

/** The signed-in person and team, asked for until the API answers; null: none. */
const readSignedIn = (): Promise<Identity | null> =>
  persistently(readIdentity, new AbortController().signal, () => undefined).catch(() => null);

/**
 * Checks again who is signed in. Another person, or another team, must not see the data shown. For the same person and team
 * the page remains, with its file transfers and half-filled forms.
 */
async function lookAgain(): Promise<void> {
  const before = queryClient.getQueryData(identityQuery.queryKey);
  if (before === undefined) return;
  const now = await readSignedIn();
  if (now === null || !isSame(before, now)) return location.reload();
  queryClient.setQueryData(identityQuery.queryKey, now);
  if (!sessionLost.get()) return;
  sessionLost.set(false);
  await queryClient.invalidateQueries();
}

/** Tells other tabs that the session has begun or ended, perhaps of another person. */
const changes = new BroadcastChannel("rcpt session");
changes.onmessage = () => void lookAgain();
// The browser took the page out of its memory, as it was left: by Back, perhaps after signing out.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) void lookAgain();
});
const notifyOtherPages = () => changes.postMessage(null);

/** Another person signs in: forgets the data of the person before. */
export function forgetSession(): void {
  queryClient.clear();
  notifyOtherPages();
}

/** Checks after signing in that the browser stored the cookie. @throws Error when it did not */
export async function ensureKept(): Promise<void> {
  try {
    await queryClient.fetchQuery(identityQuery);
  } catch (error) {
    if (error instanceof Problem && error.status === 401)
      throw new Error("The browser did not keep the session: open the portal over HTTPS.");
    throw error;
  }
}

export async function signOut(): Promise<void> {
  try {
    await api.POST("/v1/auth/logout");
  } catch (error) {
    // The session has ended already.
    if (!(error instanceof Problem && error.status === 401)) throw error;
  }
  notifyOtherPages();
  leaveForSignIn();
}
