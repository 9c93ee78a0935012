import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { redirect } from "@tanstack/react-router";
import { api, dataOf, Problem, type Schemas } from "./client.ts";
import { leaveForSignIn } from "./leave.ts";
import { lostSession } from "./lost-session.ts";
import { persistently } from "./persistently.ts";
import { queryClient } from "./query-client.ts";

export type Identity = Schemas["Identity"];
export type Role = Schemas["OwnTeam"]["role"];

const KEY = ["me"];
const readIdentity = (signal?: AbortSignal) => dataOf(api.GET("/v1/auth/me", signal ? { signal } : {}));
const RANK: Record<Role, number> = { member: 0, admin: 1, owner: 2 };

/** The signed-in person, and the team. */
export const identityQuery = queryOptions({
  queryKey: KEY,
  async queryFn(): Promise<Identity> {
    const now = await readIdentity();
    const before = queryClient.getQueryData<Identity>(KEY);
    return before === undefined || settle(before, now) ? now : before;
  },
  staleTime: 60_000,
});

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

/**
 * Decides what becomes of the page when its session is read again. Another person, or another team, must not see the data shown:
 * the page is loaded again. After a session that has ended it remains, also for the same person in another team, for whom it sends
 * nothing then: it may hold what they have entered.
 * @returns whether it is the same person in the same team
 */
function settle(before: Identity, now: Identity): boolean {
  const isSamePerson = before.user?.id === now.user?.id;
  if (isSamePerson && before.team.id === now.team.id) return true;
  if (isSamePerson && lostSession.get() !== null) lostSession.set("in another team");
  else location.reload();
  return false;
}

/** The signed-in person and team; null: none, or no answer within the bound. */
async function readSignedIn({ boundMs, isPatient }: Patience): Promise<Identity | null> {
  const control = new AbortController();
  const { signal } = control;
  const timer = setTimeout(() => control.abort(), boundMs);
  const read = () => readIdentity(signal);
  try {
    return await (isPatient ? persistently(read, signal, () => undefined) : read());
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

interface Patience {
  /** After it the page is loaded again: until then it shows what may be another person's. */
  boundMs: number;
  /** The API is asked again when it does not answer. */
  isPatient: boolean;
}
/** A service that is busy does not end the page of its person at once. */
const AFTER_CHANGE: Patience = { boundMs: 30_000, isPatient: true };
const AFTER_BACK: Patience = { boundMs: 5_000, isPatient: false };

/** Checks again who is signed in. For the same person and team the page remains, with its file transfers and half-filled forms. */
async function lookAgain(patience: Patience): Promise<void> {
  const before = queryClient.getQueryData(identityQuery.queryKey);
  if (before === undefined) return;
  const now = await readSignedIn(patience);
  if (now === null) return location.reload();
  if (!settle(before, now)) return;
  queryClient.setQueryData(identityQuery.queryKey, now);
  if (lostSession.get() === null) return;
  lostSession.set(null);
  await queryClient.invalidateQueries();
}

/** Tells other tabs that the session has begun or ended, perhaps of another person. */
const changes = new BroadcastChannel("rcpt session");
changes.onmessage = () => void lookAgain(AFTER_CHANGE);
// The browser took the page out of its memory, as it was left: by Back, perhaps after signing out.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) void lookAgain(AFTER_BACK);
});
const notifyOtherPages = () => changes.postMessage(null);

/** A person signs in: forgets the data of the person before. */
export function forgetSession(): void {
  lostSession.set(null);
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
