import createClient from "openapi-fetch";
import { BASE_PATH } from "../base-path.ts";
import { leaveForSignIn } from "./leave.ts";
import type { components, paths } from "./schema.d.ts";

export type Schemas = components["schemas"];
type ProblemCode = Schemas["Problem"]["code"];

/** An error response of the API, with its own text; or a failure to reach the API. */
export class Problem extends Error {
  override name = "Problem";
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** null: the answer is not from the API. */
  readonly code: ProblemCode | null;
  /** Fields that are wrong, by their dotted name. */
  readonly fields: ReadonlyMap<string, string>;
  /** Seconds after which to try again; null: the API named no time. */
  readonly retryAfterS: number | null;
  /** The same as milliseconds of the browser's clock. */
  readonly retryAtMs: number | null;
  readonly body: Schemas["Problem"] | null;

  constructor(status: number, body: Schemas["Problem"] | null, retryAfterS: number | null) {
    super(
      body?.detail ?? (status === 0 ? "The service cannot be reached." : `The service answered ${status}.`),
    );
    this.status = status;
    this.code = body?.code ?? null;
    this.body = body;
    this.fields = new Map(body?.errors?.map(({ path, message }) => [path, message]));
    this.retryAfterS = retryAfterS;
    this.retryAtMs = retryAfterS === null ? null : Date.now() + retryAfterS * 1_000;
  }
}

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
    // The session has ended while a page was open; signing in and out deal with it themselves.
    if (problem.code === "unauthorized" && !schemaPath.startsWith("/v1/auth/"))
      leaveForSignIn(location.pathname.slice(BASE_PATH.length) + location.search);
    throw problem;
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
