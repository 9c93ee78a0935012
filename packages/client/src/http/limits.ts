/** One limit, as of the last answer about it. */
export interface Limit {
  /** Requests in a window, or units of the day; null: not stated. */
  limit: number | null;
  windowS: number | null;
  /** Units left, for `resetS` seconds from `seenAt`. */
  remaining: number;
  resetS: number;
  seenAt: Date;
}

/** By name: `rate` of verifications and submitted lists, `read`, `write`, and `quota` of the day. */
export type Limits = Readonly<Partial<Record<"rate" | "read" | "write" | "quota", Limit>>>;

const NAMES = ["rate", "read", "write", "quota"] as const;

/** `"rate";r=9;t=1, "quota";r=100;t=3600`: parameters by name. Names that are not the API's are left out. */
function readItems(text: string | null): Map<keyof Limits, Map<string, number>> {
  const found = new Map<keyof Limits, Map<string, number>>();
  for (const item of text?.split(",") ?? []) {
    const [quoted = "", ...parameters] = item.trim().split(";");
    const name = NAMES.find((known) => quoted === `"${known}"`);
    if (name === undefined) continue;
    const pairs = parameters.map((pair) => pair.trim().split("="));
    found.set(name, new Map(pairs.map(([key = "", value]) => [key, Number(value)])));
  }
  return found;
}

/** The team's limits according to answers (`RateLimit-Policy`, `RateLimit`). */
export class LimitsSeen {
  #limits: Limits = {};
  /** The rate limit of a route, once an answer of it has named it. */
  readonly #ofRoute = new Map<string, keyof Limits>();

  get limits(): Limits {
    return this.#limits;
  }

  /** @param route its method and its path, with parameters by name */
  onAnswer(route: string, headers: Headers): void {
    const policies = readItems(headers.get("ratelimit-policy"));
    for (const [name, left] of readItems(headers.get("ratelimit"))) {
      const [remaining, resetS] = [left.get("r"), left.get("t")];
      if (!Number.isFinite(remaining) || !Number.isFinite(resetS)) continue;
      const policy = policies.get(name);
      const limit: Limit = {
        limit: policy?.get("q") ?? null,
        windowS: policy?.get("w") ?? null,
        remaining: remaining ?? 0,
        resetS: resetS ?? 0,
        seenAt: new Date(),
      };
      this.#limits = { ...this.#limits, [name]: limit };
      if (name !== "quota") this.#ofRoute.set(route, name);
    }
  }

  /** Milliseconds for which a request would be refused, according to the last answer about its rate. */
  waitMs(route: string): number {
    const name = this.#ofRoute.get(route);
    const seen = name === undefined ? undefined : this.#limits[name];
    if (seen === undefined || seen.remaining > 0) return 0;
    return Math.max(0, seen.seenAt.getTime() + seen.resetS * 1_000 - Date.now());
  }
}
