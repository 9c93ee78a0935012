import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Reply } from "../smtp/reply.ts";
import { type AskDeps, ask, isUnput, type Target } from "./asking.ts";
import { type CatchAllFacts, catchAllAnswer, catchAllKey, strangerAt } from "./catch-all.ts";
import { delayOf } from "./classify/delay.ts";
import type { CatchAll, SmtpClass } from "./evidence.ts";
import type { Exchanger } from "./probe.ts";
import type { StrangerTally } from "./thread-counts.ts";

/** What is known of strangers at a host. */
export interface StrangerAnswer {
  catchAll: CatchAll;
  /** Seconds after which the stranger may be asked again who was put off now; null: he was not, or asked by others. */
  retryAfterS: number | null;
}

export interface StrangerDeps extends AskDeps {
  facts: CatchAllFacts;
  /** Raised with each look-up. */
  strangers: StrangerTally;
}

/** What is known of strangers at the host that accepted the real address; asked there when nobody has yet. */
export async function catchAllOf(
  deps: StrangerDeps,
  target: Target,
  exchanger: Exchanger,
  budgetMs: number,
): Promise<StrangerAnswer> {
  const key = catchAllKey(target.domain, exchanger.site, exchanger.host);
  const claim = deps.facts.claim(key);
  const fact = await within(deps.clock, claim, budgetMs);
  if (fact === "ask") {
    deps.strangers.asked++;
    return askStranger(deps, target, { exchanger, key, deadlineAt: deps.clock.monotonic() + budgetMs });
  }
  if (fact !== undefined) {
    deps.strangers.hit++;
    return { catchAll: fact, retryAfterS: null };
  }
  // Too late for us; should the question fall to us after all, the next one who needs the answer asks it.
  void claim.then((late) => late === "ask" && deps.facts.abandon(key));
  return { catchAll: "not_probed", retryAfterS: null };
}

/** What `promise` resolves to, or undefined after `ms`. */
function within<T>(clock: Clock, promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(undefined));
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}

async function askStranger(
  deps: StrangerDeps,
  target: Target,
  question: { exchanger: Exchanger; key: string; deadlineAt: number },
): Promise<StrangerAnswer> {
  const { exchanger, key, deadlineAt } = question;
  const local = strangerAt(target.domain, deps.clock.now(), deps.self.heloName);
  const route = { ...target.route, exchangers: [exchanger] };
  // Whoever was accepted waits for this answer: it does not stand in line behind those who are not.
  const control = { cancelled: () => false, deadlineAt, urgent: true };
  try {
    const { outcome, ruling } = await ask(deps, target, { route, local, control });
    if (isUnput(outcome, ruling)) {
      deps.facts.abandon(key);
      return { catchAll: "not_probed", retryAfterS: null };
    }
    const answer = catchAllAnswer(ruling.class);
    const retryAfterS = outcome.kind === "reply" ? putOffFor(outcome.reply, ruling.class) : null;
    deps.facts.settle(key, answer, retryAfterS);
    return { catchAll: answer, retryAfterS };
  } catch (error) {
    deps.facts.abandon(key);
    throw error;
  }
}

/** Seconds that a stranger has to wait who was put off: greylisting means it also where it names none. */
function putOffFor(reply: Reply, ruling: SmtpClass): number | null {
  return delayOf(reply, ruling) ?? (ruling === "greylisted" ? LIMITS.rechecks.usualS : null);
}
