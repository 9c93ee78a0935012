import { type BulkApi, createBulk } from "./bulk/bulk.ts";
import { type FeedbackEvent, type FeedbackOptions, type FeedbackReport, reportFeedback } from "./feedback.ts";
import type { Limits } from "./http/limits.ts";
import { paginate } from "./http/paginate.ts";
import type {
  Answer,
  ItemOf,
  Method,
  OptionsArgument,
  PagedPath,
  PathOf,
  QueryValues,
  RequestOptions,
} from "./http/paths.ts";
import { type ApiRequest, Transport } from "./http/transport.ts";

const TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 5;

export interface ClientOptions {
  /** URL of the service, e.g. `https://rcpt.example.com`. */
  url: string;
  /** A key or a session, for `Authorization`; absent for calls without credentials, such as signing in. */
  key?: string | undefined;
  /** Instead of the global one. */
  fetch?: typeof fetch | undefined;
  /** Milliseconds for a call with its retries and waits; absent: 60 s. Uploads, events and downloads have no limit. */
  timeoutMs?: number | undefined;
  /** Most attempts of a request, including the first; absent: 5. 1: never repeats. */
  maxAttempts?: number | undefined;
  /** Delays a request while the last answer said that its rate is used up, instead of having it refused. */
  pace?: boolean | undefined;
}

/** Result of a verification. */
export type Verification = Answer<"GET", "/v1/verify">;

export interface VerifyOptions {
  /** false: asks no mail server. */
  probe?: boolean | undefined;
  /** true: asks again although the cache knows. */
  refresh?: boolean | undefined;
  /** true: adds what the verdict rests on. */
  evidence?: boolean | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

export interface Client {
  /** Verifies an address. A badly formed one is an answer. @throws RcptError; the reason of `signal` */
  verify(email: string, options?: VerifyOptions): Promise<Verification>;
  readonly bulk: BulkApi;
  /**
   * Reports what became of messages, FEEDBACK_PER_REQUEST events a request. The same event counts once, so that all may be
   * reported again when it fails midway.
   * @throws RcptError; the reason of `signal`
   */
  reportFeedback(
    events: Iterable<FeedbackEvent> | AsyncIterable<FeedbackEvent>,
    options?: FeedbackOptions,
  ): Promise<FeedbackReport>;
  /** Any request of the API, typed by its method and path; see `/docs/reference` of the service. @throws RcptError */
  request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...options: OptionsArgument<RequestOptions<M, P>>
  ): Promise<Answer<M, P>>;
  /** The entries of a list, page after page. @throws RcptError */
  paginate<P extends PagedPath>(
    path: P,
    ...options: OptionsArgument<RequestOptions<"GET", P>>
  ): AsyncGenerator<ItemOf<P>, void>;
  /** The team's limits, as of the last answers. */
  readonly limits: Limits;
}

/** The options of a typed call, as the transport takes them. */
function requestOf(method: string, path: string, options: object = {}): ApiRequest {
  const { path: parameters, query, ...rest } = options as ApiRequestOptions;
  return { ...rest, method, path, parameters, query };
}

interface ApiRequestOptions extends Omit<ApiRequest, "method" | "path" | "parameters"> {
  path?: object;
  query?: QueryValues;
}

/**
 * A client of the service at `url`. It holds no connections and needs no closing. @throws TypeError when `url` is not a
 * URL, or `key` is not a valid header value
 */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport({
    url: options.url,
    key: options.key,
    // Called by itself: some runtimes refuse a fetch that is a member of something else.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    maxAttempts: options.maxAttempts ?? MAX_ATTEMPTS,
    pace: options.pace ?? false,
  });
  return {
    async verify(email, { signal, timeoutMs, ...flags } = {}) {
      const query = { email, ...flags };
      const request = { method: "GET", path: "/v1/verify", query, signal, timeoutMs };
      return (await transport.json(request)) as Verification;
    },
    bulk: createBulk(transport),
    reportFeedback: (events, options) => reportFeedback(transport, events, options),
    async request<M extends Method, P extends PathOf<M>>(
      method: M,
      path: P,
      ...[given]: OptionsArgument<RequestOptions<M, P>>
    ) {
      return (await transport.json(requestOf(method, path, given))) as Answer<M, P>;
    },
    paginate: <P extends PagedPath>(path: P, ...[given]: OptionsArgument<RequestOptions<"GET", P>>) =>
      paginate<ItemOf<P>>(transport, requestOf("GET", path, given)),
    get limits() {
      return transport.seen.limits;
    },
  };
}
