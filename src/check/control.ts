import { LIMITS } from "../core/limits.ts";
import { type AskDeps, ask, type Target, visitOf } from "./asking.ts";
import type { ControlAnswer } from "./belief/messages.ts";
import type { Beliefs } from "./belief/mirror.ts";
import type { SmtpClass } from "./evidence.ts";
import { lookUpMx } from "./mx.ts";
import type { SiteDirectory } from "./site.ts";

interface ControlDeps extends AskDeps {
  beliefs: Beliefs;
  sites: SiteDirectory;
  house: { trusts(path: string): boolean };
}

/**
 * Whether a site that refused the target as unknown may be believed. Where so many were refused that it is in doubt, the
 * control question falls to one of them, who puts it here: `postmaster`, which every domain has to accept (RFC 5321
 * §4.5.1), at up to LIMITS.belief.controls domains; the others wait for the answer.
 * @param budgetMs for each question
 */
export async function believable(
  deps: ControlDeps,
  target: Target,
  control: { deadlineAt: number },
  budgetMs: number,
): Promise<boolean> {
  const { site } = target.route;
  let say = await deps.beliefs.refused(site, { address: target.address, domain: target.domain });
  while (say.kind === "control") {
    const { domain } = say;
    const deadlineAt = Math.min(control.deadlineAt, deps.clock.monotonic() + budgetMs);
    let answer: ControlAnswer = "inconclusive";
    try {
      answer = await askPostmaster(deps, target, domain, deadlineAt);
    } finally {
      say = await deps.beliefs.controlled(site, domain, answer);
    }
  }
  return say.kind === "believed";
}

async function askPostmaster(
  deps: ControlDeps,
  target: Target,
  domain: string,
  deadlineAt: number,
): Promise<ControlAnswer> {
  const mx = domain === target.domain ? target.mx : await lookUpMx(deps.resolver, domain);
  const { site } = deps.sites.siteOf(mx.hosts, domain);
  if (site !== target.route.site || (mx.status !== "ok" && mx.status !== "implicit")) return "inconclusive";
  const route = { ...target.route, hosts: mx.hosts, published: mx.status === "ok" };
  const postmaster = { ...target, address: `postmaster@${domain}`, local: "postmaster", domain, mx, route };
  const { outcome, ruling } = await ask(deps, postmaster, {
    route,
    local: postmaster.local,
    // Whoever was refused meanwhile waits for it.
    control: { cancelled: () => false, deadlineAt, urgent: true },
    visit: visitOf(deps, postmaster),
  });
  return deps.house.trusts(outcome.path) ? controlAnswer(ruling.class) : "inconclusive";
}

function controlAnswer(ruling: SmtpClass): ControlAnswer {
  if (ruling === "accepted" || ruling === "mailbox_full") return "accepted";
  return ruling === "mailbox_not_found" || ruling === "mailbox_disabled" ? "refused" : "inconclusive";
}

/** Of a question to a stranger or a postmaster. */
export function questionBudgetMs(mode: string): number {
  return mode === "single" ? LIMITS.check.catchAllBudgetMs : LIMITS.bulk.catchAllBudgetMs;
}
