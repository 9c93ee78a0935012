import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import { limitText, type RateLimitState } from "../../features/quota/limits-view.ts";
import type { RequestIds } from "../request/request-id.ts";
import type { HttpReply } from "./reply.ts";

/** The parts of a reply's head around its id and the value of `RateLimit`, ASCII. */
export interface HeadParts {
  status: string;
  before: string;
  behind: string;
}

/** Heads that many replies share, except for the id and limits: cached answers and refusals. */
export interface HeadTemplates {
  /**
   * The status line's status with all fields behind it. Valid until the next call.
   * @param reply whose head is shared
   * @param id number of a request's id
   * @param cors fields of the request's origin, each with CR LF before it
   */
  fill(reply: HttpReply, id: number, limits: RateLimitState, cors: string): Uint8Array;
}

/** Behind the status: all fields are written with it. */
const ID_FIELD = "\r\nX-Request-Id: ";
/** The longest number in a value of `RateLimit`. */
const LONGEST = Number.MAX_SAFE_INTEGER;
const LONGEST_LIMITS = { rate: LONGEST, rateResetS: LONGEST, quota: LONGEST, quotaResetS: LONGEST };

/**
 * Status and header fields of a reply as bytes: a template, in which each request fills in its id and its limits. Joining
 * all of it as strings takes 1.2 us a request; this takes 0.3. With the status in it, it is one call with one argument, 0.3 us
 * less than a field with name and value.
 */
class HeadTemplate {
  readonly #form: Buffer;
  readonly #ids: RequestIds;
  readonly #idAt: number;
  readonly #limitsAt: number;
  /** Fields behind the limits. */
  readonly #end: string;
  #idsSeen = 0;
  /** Views by length, of which there are a few dozen: creating one costs more than a look-up. */
  readonly #views: Uint8Array[] = [];

  /** @param cors fields behind all others */
  constructor(ids: RequestIds, { status, before, behind }: HeadParts, limits: RateLimitState, cors: string) {
    const start = status + ID_FIELD;
    const first = start + " ".repeat(ids.length) + before;
    this.#ids = ids;
    this.#idAt = start.length;
    this.#limitsAt = first.length;
    this.#end = behind + cors;
    const longest = limitText({ ...limits, ...LONGEST_LIMITS });
    this.#form = Buffer.from(first + longest + this.#end, "latin1");
  }

  fill(id: number, limits: RateLimitState): Uint8Array {
    const form = this.#form;
    this.#idsSeen = this.#ids.write(id, form, this.#idAt, this.#idsSeen);
    const at = this.#limitsAt + form.write(limitText(limits) + this.#end, this.#limitsAt, "latin1");
    const known = this.#views[at];
    if (known !== undefined) return known;
    const view = form.subarray(0, at);
    this.#views[at] = view;
    return view;
  }
}

export function createHeadTemplates(
  ids: RequestIds,
  partsOf: (reply: HttpReply, policy: string) => HeadParts,
): HeadTemplates {
  /** By the object of header fields that replies share, then by policy (which may name the quota) and origin. */
  const templates = new WeakMap<HttpReply["headers"], LRUCache<string, HeadTemplate>>();
  /** The last template: most consecutive replies have the limits of one tier, and one origin or none. */
  let lastHeaders: HttpReply["headers"] | null = null;
  let lastPolicy = "";
  let lastCors = "";
  let last: HeadTemplate | null = null;

  function templateFor(reply: HttpReply, limits: RateLimitState, cors: string): HeadTemplate {
    const { headers } = reply;
    const { policy } = limits;
    if (last !== null && headers === lastHeaders && policy === lastPolicy && cors === lastCors) return last;
    const ofHead =
      templates.get(headers) ?? new LRUCache<string, HeadTemplate>({ max: LIMITS.http.headTemplates });
    const key = policy + cors;
    const template = ofHead.get(key) ?? new HeadTemplate(ids, partsOf(reply, policy), limits, cors);
    ofHead.set(key, template);
    templates.set(headers, ofHead);
    lastHeaders = headers;
    lastPolicy = policy;
    lastCors = cors;
    last = template;
    return template;
  }

  return { fill: (reply, id, limits, cors) => templateFor(reply, limits, cors).fill(id, limits) };
}
