import type { components } from "./schema.d.ts";

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
