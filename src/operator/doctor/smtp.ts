import { composePreflight } from "../../app/checks/preflight.ts";
import { ownShaping } from "../../app/checks/shaping.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { SelfCheckFinding as HouseFinding, RouteReport } from "../../egress/self-check/report.ts";
import { type DoctorFinding, type DoctorGroup, skipped } from "./finding.ts";
import { concerns } from "./roles.ts";

/** A way's findings by preflight, in the doctor's terms. Pure. */
export function judgeRoute({ way, findings }: RouteReport): DoctorFinding[] {
  return findings.map((finding) => ({
    check: `${way}: ${finding.check.replaceAll("_", " ")}`,
    state: stateOf(finding),
    seen: finding.seen,
    advice: finding.advice,
  }));
}

function stateOf({ result, weight }: HouseFinding): DoctorFinding["state"] {
  if (result === "fail") return weight === "advice" ? "warn" : "fail";
  // `unknown` over a route that reached no server proves neither health nor a fault.
  return result === "unknown" ? "warn" : result === "skipped" ? "skipped" : "ok";
}

/** `npm run preflight`, as a part of the whole. */
export const SMTP_GROUP: DoctorGroup = {
  name: "smtp",
  title: "SMTP: how mail servers see us",
  async examine({ config, clock }, { note, atEnd }) {
    if (!concerns(config.role, "probes")) return note(skipped("ways", "A relay probes nobody."));
    const preflight = composePreflight(config, ownShaping(config), clock);
    atEnd(() => preflight.close());
    const run = await preflight.startRun();
    for (let i = 0; i < preflight.routes.length; i += LIMITS.selfCheck.routesAtOnce) {
      const some = preflight.routes.slice(i, i + LIMITS.selfCheck.routesAtOnce);
      for (const report of await Promise.all(some.map((path) => run.checkRoute(path))))
        note(...judgeRoute(report));
    }
  },
};
