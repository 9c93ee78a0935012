import createClient from "openapi-fetch";
import { BASE_PATH } from "../base-path.ts";
import { sessionLost } from "./lost-session.ts";
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

api.use({
  async onResponse({ response, schemaPath }) {
    if (response.ok) return;
    const problem = await problemOf(response);
    // Signing in and out deal with it themselves.
    if (problem.code !== "unauthorized" || schemaPath.startsWith("/v1/auth/")) throw problem;
    // The session has ended while a page was open. The API's text speaks to programs.
    sessionLost.set(true);
    throw new Problem(
      problem.status,
      problem.body && { ...problem.body, detail: "You are signed out." },
      null,
    );
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
