import type { FieldSource } from "./framing.ts";
import { createRequestIds } from "./request-id.ts";
import { createShortHeads } from "./short-head.ts";
import { createShortMiss, type LaterWriter, type ShortMissDeps } from "./short-miss.ts";
import { createShortRefusal, type ShortRefusalDeps } from "./short-refusal.ts";
import { createShortWay, type ShortWay, type ShortWayDeps } from "./short-way.ts";

/** GET /v1/verify of what is ready, will be refused or has to be looked up: see short-way.ts, short-refusal.ts, short-miss.ts. */
export interface ShortWays extends Pick<ShortWay, "learn"> {
  /** False: nothing was done, the general way has to answer. */
  answer(response: LaterWriter, source: FieldSource, rawQuery: string): boolean;
}

export interface ShortWaysDeps extends Omit<ShortMissDeps, "ids" | "heads" | keyof ReadyParts> {
  ready: ReadyParts;
}

type ReadyParts = Pick<ShortWayDeps, "answers" | "credentials"> &
  Pick<ShortRefusalDeps, "entrance"> &
  Pick<ShortMissDeps, "missing">;

export function createShortWays({ ready, ...deps }: ShortWaysDeps): ShortWays {
  const { clock } = deps;
  const ids = createRequestIds();
  const made = { ...deps, ...ready, ids, heads: createShortHeads(ids) };
  const shortWay = createShortWay(made);
  const shortRefusal = createShortRefusal(made);
  const shortMiss = createShortMiss(made);
  return {
    answer(response, source, rawQuery) {
      const nowMs = clock.monotonic();
      return (
        shortWay.answer(response, source, rawQuery, nowMs) ||
        shortRefusal.refuse(response, source, rawQuery, nowMs) ||
        shortMiss.ask(response, source, rawQuery, nowMs)
      );
    },
    learn: shortWay.learn,
  };
}
