import { LRUCache } from "lru-cache";
import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Actor, MemberRole } from "../../features/identity/actor.ts";
import type { TierFeature } from "../../features/identity/tier-features.ts";
import type { RateClass } from "../../features/rate-limit/classes.ts";
import { AppError, type ErrorCode } from "../../platform/errors.ts";
import { upTo } from "../../platform/lru.ts";
import { RenderedJson } from "../../platform/rendered-json.ts";
import type { RequestBody } from "../body/body.ts";
import type { IncomingBody } from "../body/incoming-body.ts";
import { type ParseLarge, readBody, readSignedJson } from "../body/json-body.ts";
import type { JsonBounds } from "../body/json-scan.ts";
import { type ContentType, HttpReply } from "../reply/reply.ts";
import { andThen, type MaybePromise } from "../request/maybe-promise.ts";
import type { Cancellation, HttpRequest, RetainedHeader } from "../request/request.ts";
import { validate } from "../request/validate.ts";

/** The rate of a route that needs no credential: "client" is that of the client's address. */
export type PublicRate = "client" | "none";
export type RouteRate = RateClass | PublicRate;
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Schema<T> = v.GenericSchema<unknown, T>;

/** Properties of every route. The OpenAPI document is made from them, and the server runs on them. */
export interface RouteInfo {
  method: Method;
  /** `/v1/keys/{id}`: a parameter is a whole segment. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /** The rate limit that each request takes a token of. A GET of the class `verify` charges, and is not served to HEAD. */
  rate: RouteRate;
  /** Part of one of our own pages: not in the OpenAPI document, since clients do not program against it. */
  internal?: boolean;
  /**
   * Set on a route of the class `read` that waits for more than Postgres: its wait must not use up turns of other reads (see
   * `ReadTurns`).
   */
  waitsElsewhere?: boolean;
  /** Served also when the server sheds load: health checks. */
  isEssential?: boolean;
  /** A key whose user has left is refused with 401 `key_without_user`, before its role is looked at. */
  needsUser?: boolean;
  /** A test key is refused with 403 `live_credential_needed`, once its role reaches. */
  liveOnly?: boolean;
  /** Honours `Idempotency-Key`: the same key and body get the first answer again. Of POST routes with a body. */
  idempotent?: boolean;
  /** The member of the answer that is shown once: never kept for a replay, which says null there. */
  secretField?: string;
  /** Member of the answer that says until when it holds: it is kept for its idempotency key no longer than that. */
  validUntilField?: string;
  /** The team's tier must have it: else 402 `unavailable_in_tier`, before the body is read. */
  feature?: TierFeature;
  /** Largest body in bytes, decoded, where it is not LIMITS.http.bodyBytes. */
  bodyBytes?: number;
  /** Limits of its JSON that differ from LIMITS.http.bodies.json. */
  bodyBounds?: Partial<JsonBounds>;
  /** Set where the body may be over LIMITS.http.bodies.parsedHereBytes. */
  parseLarge?: ParseLarge<unknown>;
  /** The handler needs the client's address (sign-in limits): it is read before anything waits. */
  readsClientAddress?: boolean;
  /** For a route without a body: headers that the handler reads, "" when absent. */
  readsHeaders?: readonly RetainedHeader[];
  /**
   * Set on a public route that a credential may come along with. A wrong one is refused; the handler gets the actor of a
   * good one.
   */
  mayAuthenticate?: boolean;
  /** Errors beyond those that follow from the other fields (401, 400, 413, 415, 500, 503…). */
  errors: readonly ErrorCode[];
  params?: v.GenericSchema;
  /** A strict object; absent: no parameter is allowed; "ignored": any is, none is read. */
  query?: v.GenericSchema | "ignored";
  body?: v.GenericSchema;
  /** A body that the schema accepts, as documented. */
  bodyExample?: unknown;
  /** Instead of `body`: JSON of any content type whose sender is known by a signature over its bytes. */
  signedBody?: v.GenericSchema;
  /**
   * Instead of `body`: bytes of any content type. The handler takes them as they come, however many; or collected, at most
   * `bodyBytes`, within the memory for bodies.
   */
  incoming?: "streamed" | "collected";
  /** How many bytes such a body may have, in words; absent: as many as a list. */
  incomingBody?: string;
  success: Success;
  /** Other documented replies, each with its own status, that are not errors of the caller, e.g. 503 of /readyz. */
  alternatives?: readonly Success[];
}

export interface Success {
  status: number;
  description: string;
  /** null: no body. */
  schema: v.GenericSchema | null;
  /** Media type; absent: JSON. */
  contentType?: ContentType;
  /** Further content types of the same schema that the caller may ask for: of each, an example. */
  alsoAs?: Readonly<Partial<Record<ContentType, unknown>>>;
  /** Additional header fields of this answer, by name, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
  example?: unknown;
}

export type PublicRoute = RouteInfo & {
  access: "public";
  rate: PublicRate;
  invoke(request: HttpRequest): MaybePromise<HttpReply>;
};
export type TeamRoute = RouteInfo & {
  /** The least role that may call it. */
  access: { role: MemberRole };
  rate: RateClass;
  /**
   * Runs before the token is taken. Returns or throws a refusal, and may do other early work. It must not reveal whether
   * the input is valid.
   */
  early?(request: HttpRequest, actor: Actor): AppError | null;
  invoke(request: HttpRequest, actor: Actor): MaybePromise<HttpReply>;
};
export type Route = PublicRoute | TeamRoute;

export function jsonBounds({ bodyBounds }: Pick<RouteInfo, "bodyBounds">): JsonBounds {
  return { ...LIMITS.http.bodies.json, ...bodyBounds };
}

export function acceptsBody({ body, signedBody, incoming }: RouteInfo): boolean {
  return body !== undefined || signedBody !== undefined || incoming !== undefined;
}

/**
 * The answers tell the rate of the client's address: those of the API. Pages and their files are the same for all clients, and may
 * be kept by a cache between.
 */
export function tellsClientRate({ rate, path }: Pick<RouteInfo, "rate" | "path">): boolean {
  return rate === "client" && path.startsWith("/v1/");
}

export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
}

/** The request as a handler sees it, besides the validated input. */
export type Context = Cancellation &
  Pick<
    HttpRequest,
    "id" | "actor" | "clientAddress" | "headers" | "isFromPortal" | "startedMs" | "span" | "note"
  >;

/** A value is rendered as JSON with the route's success status, unless it is already; a `Reply` is sent as it is. */
type Answer<T> = MaybePromise<T | RenderedJson | HttpReply>;

interface RouteSpec<P, Q, B, T>
  extends Omit<RouteInfo, "params" | "query" | "body" | "parseLarge" | "success"> {
  params?: Schema<P>;
  query?: Schema<Q> | "ignored";
  body?: Schema<B>;
  parseLarge?: ParseLarge<B>;
  success: Omit<Success, "schema"> & { schema: Schema<T> | null };
}

const NO_PARAMETERS = v.strictObject({});

/** Validates the input by the schemas of the route. Returns a promise only if there is a body. */
function readInput<P, Q, B, T>(
  spec: RouteSpec<P, Q, B, T>,
  request: HttpRequest,
): MaybePromise<Input<P, Q, B>> {
  // Without a schema the type parameter is `undefined`.
  const params = spec.params ? validate(spec.params, request.params, "path") : (undefined as P);
  let query = undefined as Q;
  if (spec.query === undefined) validate(NO_PARAMETERS, request.query(), "query");
  else if (spec.query !== "ignored") query = validate(spec.query, request.query(), "query");
  const { body: schema, parseLarge } = spec;
  if (schema === undefined) return { params, query, body: undefined as B };
  return readBody(request, { schema, parseLarge }).then((body) => ({ params, query, body }));
}

/** null: the input is invalid, which is reported later, in the order of `dispatch`. */
function readEarly<P, Q, B, T>(spec: RouteSpec<P, Q, B, T>, request: HttpRequest): Input<P, Q, B> | null {
  try {
    const input = readInput(spec, request);
    return input instanceof Promise ? null : input;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

const ASCII = { isAscii: true };

function toReply<P, Q, B, T>(spec: RouteSpec<P, Q, B, T>, answer: T | RenderedJson | HttpReply): HttpReply {
  if (answer instanceof HttpReply) return answer;
  const { status, schema } = spec.success;
  if (answer instanceof RenderedJson) return new HttpReply(status, answer.body, ASCII);
  if (schema === null) return new HttpReply(status, null);
  return new HttpReply(status, JSON.stringify(answer));
}

/** A route without a credential. */
export function publicRoute<T, P = undefined, Q = undefined, B = undefined>(
  spec: RouteSpec<P, Q, B, T> & {
    rate: PublicRate;
    handler(input: Input<P, Q, B>, context: Context): Answer<T>;
  },
): PublicRoute {
  const invoke = (request: HttpRequest) =>
    andThen(readInput(spec, request), (input) =>
      andThen(spec.handler(input, request), (answer) => toReply(spec, answer)),
    );
  return { ...spec, access: "public", invoke };
}

/** A route that others' servers call, known by a signature over the bytes of the body. */
export function signedRoute<T, B>(
  spec: Omit<
    RouteSpec<undefined, undefined, undefined, T>,
    "params" | "body" | "parseLarge" | "idempotent"
  > & {
    rate: "none";
    query: "ignored";
    signedBody: Schema<B>;
    /** Checks the signature over the body as received. @throws AppError when it does not match the expected sender */
    verify(bytes: Buffer, headers: HttpRequest["headers"]): void;
    handler(body: B): Answer<T>;
  },
): PublicRoute {
  const invoke = (request: HttpRequest) =>
    readSignedJson(request, (bytes) => spec.verify(bytes, request.headers), jsonBounds(spec)).then((json) =>
      andThen(spec.handler(validate(spec.signedBody, json, "body")), (answer) => toReply(spec, answer)),
    );
  return { ...spec, access: "public", invoke };
}

/** Early steps of a route without a body, before the token is taken. They never get invalid input. */
interface EarlySteps<I> {
  /** While its input is not known yet: what refuses it whatever that is, or once that is read. null: nothing does. */
  refuse?(actor: Actor, context: Context, read: () => I | null): AppError | null;
  enter(input: I, actor: Actor, context: Context): void;
}

/** Validated input by raw query, of requests answered at once with 200: these are repeated again and again. */
type RememberedInputs<I extends object> = LRUCache<string, I>;

function rememberInput<I extends object>(
  inputs: RememberedInputs<I>,
  { rawQuery }: HttpRequest,
  actor: Actor,
  input: I,
): void {
  // Test keys pay nothing: they could evict the queries of others.
  if (!actor.livemode || rawQuery.length > LIMITS.http.rememberedQueryChars) return;
  if (inputs.get(rawQuery) === undefined) inputs.set(rawQuery, input);
}

/** See `TeamRoute.early`. */
function settleEarly<P, Q, B, T>(
  spec: RouteSpec<P, Q, B, T>,
  steps: EarlySteps<Input<P, Q, B>>,
  inputs: RememberedInputs<Input<P, Q, B>>,
): (request: HttpRequest, actor: Actor) => AppError | null {
  return (request, actor) => {
    let input = inputs.get(request.rawQuery) ?? null;
    if (input === null) {
      const refusal = steps.refuse?.(actor, request, () => readEarly(spec, request)) ?? null;
      if (refusal !== null) return refusal;
      input = readEarly(spec, request);
    }
    if (input === null) return null;
    request.input = input;
    steps.enter(input, actor, request);
    return null;
  };
}

/** A route that takes the bearer credential of a team, with at least `role`. */
export function teamRoute<T, P = undefined, Q = undefined, B = undefined>(
  spec: RouteSpec<P, Q, B, T> & {
    role: MemberRole;
    rate: RateClass;
    early?: EarlySteps<Input<P, Q, B>>;
    handler(input: Input<P, Q, B>, actor: Actor, context: Context): Answer<T>;
  },
): TeamRoute {
  const { early, ...route } = spec;
  const inputs = early && new LRUCache<string, Input<P, Q, B>>(upTo(LIMITS.http.rememberedQueries));
  function handle(input: Input<P, Q, B>, request: HttpRequest, actor: Actor): MaybePromise<HttpReply> {
    const answer = spec.handler(input, actor, request);
    if (answer instanceof Promise) return answer.then((value) => toReply(spec, value));
    const reply = toReply(spec, answer);
    if (inputs !== undefined && reply.status === 200) rememberInput(inputs, request, actor, input);
    return reply;
  }
  function invoke(request: HttpRequest, actor: Actor): MaybePromise<HttpReply> {
    const input = (request.input as Input<P, Q, B> | null) ?? readInput(spec, request);
    return input instanceof Promise
      ? input.then((read) => handle(read, request, actor))
      : handle(input, request, actor);
  }
  const settle = early && inputs && { early: settleEarly(spec, early, inputs) };
  return { ...route, access: { role: spec.role }, invoke, ...settle };
}

type BytesSpec<P, Q, B, T> = Omit<
  RouteSpec<P, Q, undefined, T>,
  "body" | "parseLarge" | "idempotent" | "incoming"
> & {
  role: MemberRole;
  rate: RateClass;
  handler(input: Input<P, Q, B>, actor: Actor, context: Context): Answer<T>;
};

function bytesRoute<T, P, Q, B>(
  spec: BytesSpec<P, Q, B, T>,
  incoming: NonNullable<RouteInfo["incoming"]>,
  bodyOf: (request: HttpRequest) => B | null,
): TeamRoute {
  const invoke = (request: HttpRequest, actor: Actor) =>
    andThen(readInput<P, Q, undefined, T>(spec, request), ({ params, query }) => {
      const body = bodyOf(request);
      if (body === null) throw new Error("the body was not taken in");
      const input = { params, query, body };
      return andThen(spec.handler(input, actor, request), (answer) => toReply(spec, answer));
    });
  return { ...spec, incoming, access: { role: spec.role }, invoke };
}

/** The same whose handler takes the body of the request as it comes. */
export function incomingRoute<T, P = undefined, Q = undefined>(
  spec: BytesSpec<P, Q, IncomingBody, T>,
): TeamRoute {
  return bytesRoute(spec, "streamed", (request) => request.incoming);
}

/** The same whose handler takes the body of the request whole, as it came. */
export function collectedRoute<T, P = undefined, Q = undefined>(
  spec: BytesSpec<P, Q, RequestBody, T> & { bodyBytes: number },
): TeamRoute {
  return bytesRoute(spec, "collected", (request) => request.body);
}
