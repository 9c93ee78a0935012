import type { paths } from "../schema.d.ts";

/** Types of requests, drawn from the API's own description. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

type OperationAt<M extends Method, P extends keyof paths> =
  Lowercase<M> extends keyof paths[P] ? NonNullable<paths[P][Lowercase<M>]> : never;

/** Paths that have the method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: [OperationAt<M, P>] extends [never] ? never : P;
}[keyof paths];

type ParametersOf<O> = O extends { parameters: infer A } ? A : never;
type PathParameters<O> = ParametersOf<O> extends { path: infer A } ? A : never;
type QueryParameters<O> = ParametersOf<O> extends { query?: infer Q } ? NonNullable<Q> : never;
type JsonBody<O> = O extends { requestBody?: { content: infer C } }
  ? C extends { "application/json": infer B }
    ? B
    : Blob | ReadableStream<Uint8Array> | Uint8Array
  : never;

type OrUndefined<Q> = { [K in keyof Q]: Q[K] | undefined };

type ContentOf<R> = R extends { content: infer C } ? C : never;
type Successes<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202)] : never;

/** The body of a success; undefined: it has no body. */
export type Answer<M extends Method, P extends keyof paths> = [Successes<OperationAt<M, P>>] extends [never]
  ? undefined
  : ContentOf<Successes<OperationAt<M, P>>> extends infer C
    ? C extends { "application/json": infer B }
      ? B
      : [C] extends [never]
        ? undefined
        : string
    : never;

interface CallOptions {
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  /** Total time with all retries; the client's when absent. */
  timeoutMs?: number | undefined;
  /** Idempotency key, for POSTs that take one; absent: a random one. */
  idempotencyKey?: string | undefined;
}

type WithPath<O> = [PathParameters<O>] extends [never]
  ? { path?: undefined }
  : { path: { [K in keyof PathParameters<O>]: string } };
type WithQuery<O> = [QueryParameters<O>] extends [never]
  ? { query?: undefined }
  : Partial<QueryParameters<O>> extends QueryParameters<O>
    ? { query?: OrUndefined<QueryParameters<O>> | undefined }
    : { query: OrUndefined<QueryParameters<O>> };
type WithBody<O> = [JsonBody<O>] extends [never]
  ? { body?: undefined }
  : O extends { requestBody: unknown }
    ? { body: JsonBody<O> }
    : { body?: JsonBody<O> | undefined };

export type RequestOptions<M extends Method, P extends keyof paths> = CallOptions &
  WithPath<OperationAt<M, P>> &
  WithQuery<OperationAt<M, P>> &
  WithBody<OperationAt<M, P>>;

/** The options of a call: optional if none of them is required. */
export type OptionsArgument<T> = Record<never, never> extends T ? [options?: T] : [options: T];

/** Paths of lists that come in pages. */
export type PagedPath = {
  [P in PathOf<"GET">]: Answer<"GET", P> extends { next_cursor: string | null } ? P : never;
}[PathOf<"GET">];

export type ItemOf<P extends PagedPath> = Answer<"GET", P> extends { data: (infer T)[] } ? T : never;

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** The path with its parameters filled in, and the query. */
export function urlOf(base: string, path: string, parameters: object = {}, query: QueryValues = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value: unknown = (parameters as Record<string, unknown>)[name];
    if (typeof value !== "string" || value === "") throw new TypeError(`${path} needs ${name}`);
    return encodeURIComponent(value);
  });
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) asked.set(name, String(value));
  return base + filled + (asked.size > 0 ? `?${asked}` : "");
}
