import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Cors } from "./cors.ts";
import type { RequestObserver } from "./observe.ts";
import { createRequestIds } from "./request-id.ts";
import { createShortRefusal, type ShortRefusal, type ShortRefusalDeps } from "./short-refusal.ts";
import { createShortWay, type ShortWay, type ShortWayDeps } from "./short-way.ts";

type Writer = Parameters<ShortRefusal["refuse"]>[0];
type Source = Parameters<ShortWay["answer"]>[1];

/** GET /v1/verify of what is ready or will be refused: see short-way.ts and short-refusal.ts. */
export interface ShortWays extends Pick<ShortWay, "learn"> {
  /** False: nothing was done, the general way has to answer. */
  answer(response: Writer, source: Source): boolean;
}

export interface ShortWaysDeps {
  ready: Pick<ShortWayDeps, "answers" | "credentials"> & Pick<ShortRefusalDeps, "entrance">;
  clock: Clock;
  log: Logger;
  observer: RequestObserver;
  /** null: pages of other origins may not call. */
  cors: Cors | null;
}

export function createShortWays({ ready, cors, ...deps }: ShortWaysDeps): ShortWays {
  const { clock } = deps;
  const originFields = cors === null ? null : cors.fieldsForOrigin;
  const made = { ...deps, ...ready, ids: createRequestIds(), originFields };
  const shortWay = createShortWay(made);
  const shortRefusal = createShortRefusal(made);
  return {
    answer(response, source) {
      const nowMs = clock.monotonic();
      return shortWay.answer(response, source, nowMs) || shortRefusal.refuse(response, source, nowMs);
    },
    learn: shortWay.learn,
  };
}
