import type { Clock } from "../platform/time/clock.ts";
import {
  type CatchAllFacts,
  catchAllAnswerOf,
  catchAllKey,
  catchAllLocalPart,
} from "../verification/catch-all.ts";
import type { CatchAll } from "../verification/evidence.ts";
import { replyEvidenceOf } from "../verification/reply-readings.ts";
import { retryProspectOf } from "../verification/verdict/retry-prospect.ts";
import { type GuardedProbeDeps, type ProbeTarget, runGuardedProbe, wasNotAsked } from "./guarded-probe.ts";
import type { Exchanger } from "./probe.ts";
import type { CatchAllLookUps } from "./threads/thread-counts.ts";

/** A host's answer to random local parts. */
export interface CatchAllProbeAnswer {
  catchAll: CatchAll;
  /** Seconds after which a deferred catch-all probe may be repeated; null: it was not deferred, or another check made it. */
  retryAfterS: number | null;
}

export interface CatchAllProbeDeps extends GuardedProbeDeps {
  facts: CatchAllFacts;
  /** Raised with each look-up. */
  catchAllLookUps: CatchAllLookUps;
}

/** The catch-all answer of the host that accepted the real address; probes it if it is not known yet. */
export async function findCatchAll(
  deps: CatchAllProbeDeps,
  target: ProbeTarget,
  exchanger: Exchanger,
  budgetMs: number,
): Promise<CatchAllProbeAnswer> {
  const key = catchAllKey(target.domain, exchanger.site, exchanger.host);
  const claim = deps.facts.claim(key);
  const fact = await within(deps.clock, claim, budgetMs);
  if (fact === "ask") {
    deps.catchAllLookUps.asked++;
    return sendCatchAllProbe(deps, target, { exchanger, key, deadlineAt: deps.clock.monotonic() + budgetMs });
  }
  if (fact !== undefined) {
    deps.catchAllLookUps.hit++;
    return { catchAll: fact, retryAfterS: null };
  }
  // Too late for this check. If the claim falls to it after all, it is given up, and the next check that needs the answer probes.
  void claim.then((late) => late === "ask" && deps.facts.abandon(key));
  return { catchAll: "not_probed", retryAfterS: null };
}

/** Resolves like `promise`, or to undefined after `ms`. */
function within<T>(clock: Clock, promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(undefined));
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}

async function sendCatchAllProbe(
  deps: CatchAllProbeDeps,
  target: ProbeTarget,
  question: { exchanger: Exchanger; key: string; deadlineAt: number },
): Promise<CatchAllProbeAnswer> {
  const { exchanger, key, deadlineAt } = question;
  const local = catchAllLocalPart(target.domain, deps.clock.now(), deps.self.heloName);
  const route = { ...target.route, exchangers: [exchanger] };
  // An accepted address waits for this answer, so the probe has priority over the site's other rows.
  const control = { cancelled: () => false, deadlineAt, urgent: true };
  try {
    const { outcome, ruling } = await runGuardedProbe(deps, target, { route, local, control });
    if (wasNotAsked(outcome, ruling)) {
      deps.facts.abandon(key);
      return { catchAll: "not_probed", retryAfterS: null };
    }
    const said = replyEvidenceOf(
      outcome,
      ruling,
      {
        provider: exchanger.provider,
        self: deps.self.at(outcome.path),
      },
      `${local}@${target.domain}`,
    );
    const answer = catchAllAnswerOf(ruling.class, retryProspectOf(said) !== null);
    const { retryAfterS } = said;
    deps.facts.settle(key, answer, retryAfterS);
    return { catchAll: answer, retryAfterS };
  } catch (error) {
    deps.facts.abandon(key);
    throw error;
  }
}
