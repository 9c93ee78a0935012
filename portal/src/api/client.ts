import createClient from "openapi-fetch";
import { BASE_PATH } from "../base-path.ts";
import { lostSession } from "./lost-session.ts";
import { Problem, type Schemas } from "./problem.ts";
import type { paths } from "./schema.d.ts";

export { Problem, type Schemas };

async function problemOf(response: Response): Promise<Problem> {
  const seconds = Number(response.headers.get("Retry-After"));
  const retryAfterS = response.headers.has("Retry-After") && Number.isFinite(seconds) ? seconds : null;
  const isProblem = response.headers.get("Content-Type")?.includes("json") === true;
  const body = isProblem ? ((await response.json().catch(() => null)) as Schemas["Problem"] | null) : null;
  return new Problem(response.status, body, retryAfterS);
}

/** Pages of other sites cannot send this header. The session's cookie counts only with it. */
export const PORTAL_HEADERS = { "X-Rcpt-Portal": "1" } as const;

/** The documented API, by its own description. Every call either has data or throws a Problem. */
export const api = createClient<paths>({ baseUrl: `${BASE_PATH}/`, headers: PORTAL_HEADERS });

const isForSession = (schemaPath: string): boolean => schemaPath.startsWith("/v1/auth/");

/** For the person: the API's text speaks to programs. */
const refusal = (detail: string): Problem => {
  const words = { type: "about:blank", title: "Unauthorized", request_id: "" };
  return new Problem(401, { ...words, status: 401, code: "unauthorized", detail }, null);
};

/** A request would show and change what is the other team's. @throws Problem */
export function ensureSameTeam(): void {
  if (lostSession.get() === "in another team") throw refusal("You are signed in to another team.");
}

/** Whether a person is signed in by now. A request may have begun in a session before. */
const isSignedIn = (): Promise<boolean> =>
  api.GET("/v1/auth/me").then(
    () => true,
    () => false,
  );

api.use({
  onRequest({ schemaPath }) {
    if (!isForSession(schemaPath)) ensureSameTeam();
  },
  async onResponse({ response, schemaPath }) {
    if (response.ok) return;
    const problem = await problemOf(response);
    // Signing in and out deal with it themselves.
    if (problem.code !== "unauthorized" || isForSession(schemaPath)) throw problem;
    if (await isSignedIn()) throw refusal("You were signed out meanwhile: try again.");
    lostSession.set("signed out");
    throw refusal("You are signed out.");
  },
  onError({ error }) {
    return error instanceof Problem || (error instanceof DOMException && error.name === "AbortError")
      ? undefined
      : new Problem(0, null, null);
  },
});

/** The data of a call. */
export async function dataOf<T>(call: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  const { data } = await call;
  if (data === undefined || data === null) throw new Error("the answer has no body");
  return data;
}
