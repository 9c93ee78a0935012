import { LIMITS } from "../config/limits/limits.ts";
import type { Shaping } from "../egress/shaping.ts";
import type { SmtpClass } from "../verification/evidence.ts";
import type { SiteDirectory } from "../verification/lists/site.ts";
import { exchangersOf, type GuardedProbeDeps, type ProbeTarget, runGuardedProbe } from "./guarded-probe.ts";
import type { PostmasterAnswer, RefusalRuling } from "./learned-behaviour/messages.ts";
import type { SiteBehaviours } from "./learned-behaviour/mirror.ts";
import { lookUpMx, type MxAnswer } from "./mx.ts";

interface ControlDeps extends GuardedProbeDeps {
  behaviours: SiteBehaviours;
  sites: SiteDirectory;
  shaping: Shaping;
  routeTrust: { trusts(path: string): boolean };
}

/**
 * Decides whether a site that refused the target as unknown is believed. If so many addresses were refused that this is in
 * doubt, the probe of one of them runs the control: it asks about `postmaster`, which every domain has to accept (RFC 5321
 * §4.5.1), at LIMITS.learnedBehaviour.controls domains. The others wait for the result. The control has a time budget of
 * its own, independent of the target's: a control that runs out of time would count in the site's favour.
 */
export function isRefusalBelieved(
  deps: ControlDeps,
  target: ProbeTarget,
  site: string,
): boolean | Promise<boolean> {
  const say = deps.behaviours.onRefused(site, { address: target.address, domain: target.domain });
  if (say instanceof Promise) return say.then((said) => settleControl(deps, target, site, said));
  return say.kind === "control" ? settleControl(deps, target, site, say) : say.kind === "believed";
}

async function settleControl(
  deps: ControlDeps,
  target: ProbeTarget,
  site: string,
  first: RefusalRuling,
): Promise<boolean> {
  const { controlBudgetMs, controlsBudgetMs } = LIMITS.learnedBehaviour;
  let say = first;
  const endsAt = deps.clock.monotonic() + controlsBudgetMs;
  while (say.kind === "control") {
    const { domain } = say;
    const nowMs = deps.clock.monotonic();
    let answer: PostmasterAnswer = "inconclusive";
    try {
      if (nowMs < endsAt)
        answer = await askPostmaster(
          deps,
          target.domain === domain ? target.mx : null,
          { site, domain },
          Math.min(endsAt, nowMs + controlBudgetMs),
        );
    } finally {
      say = await deps.behaviours.onControlAnswered(site, domain, answer);
    }
  }
  return say.kind === "believed";
}

async function askPostmaster(
  deps: ControlDeps,
  known: MxAnswer | null,
  { site, domain }: { site: string; domain: string },
  deadlineAt: number,
): Promise<PostmasterAnswer> {
  const mx = known ?? (await lookUpMx(deps.resolver, domain));
  if (mx.status !== "ok" && mx.status !== "implicit") return "inconclusive";
  // Answers of the domain's other hosts say nothing about the site.
  const exchangers = exchangersOf(deps, mx.hosts, domain).filter((exchanger) => exchanger.site === site);
  if (exchangers.length === 0) return "inconclusive";
  const { outcome, ruling } = await runGuardedProbe(
    deps,
    { domain },
    {
      route: { exchangers, published: mx.status === "ok" },
      local: "postmaster",
      // Addresses refused meanwhile wait for the control.
      control: { cancelled: () => false, deadlineAt, urgent: true },
    },
  );
  return deps.routeTrust.trusts(outcome.path) ? controlAnswer(ruling.class) : "inconclusive";
}

function controlAnswer(ruling: SmtpClass): PostmasterAnswer {
  if (ruling === "accepted" || ruling === "mailbox_full") return "accepted";
  return ruling === "mailbox_not_found" || ruling === "mailbox_disabled" ? "refused" : "inconclusive";
}

/** Time budget of a catch-all probe. */
export function catchAllProbeBudgetMs(mode: string): number {
  return mode === "single" ? LIMITS.check.catchAllBudgetMs : LIMITS.bulk.catchAllBudgetMs;
}
