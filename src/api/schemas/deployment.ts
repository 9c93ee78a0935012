import * as v from "valibot";
import type { DeploymentStatus } from "../../features/operator/deployment-status.ts";
import { countField, instantField, named, textField } from "./fields.ts";

const counts = (description: string) =>
  v.pipe(v.record(v.string(), v.pipe(v.number(), v.integer(), v.minValue(0))), v.description(description));

const FindingSchema = named(
  "DoctorFinding",
  v.object({
    check: textField("Such as `reverse_name`: see `npm run preflight`."),
    result: v.pipe(
      v.picklist(["pass", "fail", "unknown", "skipped"]),
      v.description("`unknown`: could not be told; `skipped`: does not apply."),
    ),
    weight: v.pipe(
      v.picklist(["trust", "service", "advice"]),
      v.description(
        "What a failure means. `trust`: refusals may be about us; `service`: nothing can be probed; `advice`: could be better.",
      ),
    ),
    seen: textField("What was seen, in a sentence."),
    advice: textField('What to do; "": nothing.'),
  }),
);

const RouteSchema = named(
  "EgressRoute",
  v.object({
    route: textField("A source address, a proxy, or `direct`."),
    network: v.pipe(v.picklist(["up", "down"]), v.description("`down`: no mail server can be reached.")),
    state: v.pipe(
      v.picklist(["ok", "failing", "pending"]),
      v.description("Of preflight; `pending`: its first look has not ended."),
    ),
    address: v.pipe(v.nullable(v.string()), v.description("What most mail servers take for our address.")),
    checked_at: v.nullable(instantField("Of the last look.")),
    findings: v.pipe(v.array(FindingSchema), v.description("Of each check of preflight.")),
  }),
);

const BreakerSchema = named(
  "EgressBreaker",
  v.object({
    site: textField("Mail servers that are one, such as a provider's."),
    provider: v.nullable(textField("Of the site, if it is a known one.")),
    route: textField("The egress route that is blocked there."),
    domain: v.nullable(textField("The only domain that is left alone; null: all of the site.")),
    open_since: instantField("When it opened."),
    next_trial_at: instantField("When one probe may try again."),
    reply: textField('What the server said, without addresses; "": another process heard it.'),
  }),
);

const EgressSchema = named(
  "Egress",
  v.object({
    egress: textField("`EGRESS_ID` of the process that answers."),
    routes: v.pipe(v.array(RouteSchema), v.description("Each way to mail servers.")),
    breakers: v.pipe(v.array(BreakerSchema), v.description("The longest open first.")),
    breakers_open: countField("How many there are in all."),
    reduced_sites: v.pipe(
      v.array(
        v.object({
          site: textField("As of breakers."),
          connections: countField("How many this process may have there."),
        }),
      ),
      v.description("Sites that get fewer connections than their policy allows, because they refused some."),
    ),
    sites_reduced: countField("How many there are in all."),
  }),
);

const PipelineSchema = named(
  "Pipeline",
  v.object({
    workers: countField("Bulk processes that take tasks."),
    jobs: counts("Jobs that have not ended, by state."),
    tasks_outstanding: countField("Tasks of jobs under way that are not done."),
    oldest_task_seconds: countField("Age of the oldest task that a worker has or could take; 0: none."),
    rows_deferred: counts("Rows that wait to be asked about again, by reason."),
    dead_letters: countField("Tasks that were given up."),
  }),
);

export const DeploymentSchema = named(
  "Deployment",
  v.object({
    version: textField("Of rcpt."),
    node: textField("Of Node.js."),
    egress: v.pipe(EgressSchema, v.description("As the process that answers knows it.")),
    pipeline: v.pipe(
      v.nullable(PipelineSchema),
      v.description("Of all processes; null: it could not be counted."),
    ),
  }),
);

export const deploymentExample: DeploymentStatus = {
  version: "0.1.0",
  node: "v22.12.0",
  egress: {
    egress: "node-1",
    routes: [
      {
        route: "direct",
        network: "up",
        state: "failing",
        address: "192.0.2.1",
        checked_at: "2026-01-01T12:00:00.000Z",
        findings: [
          {
            check: "reverse_name",
            result: "fail",
            weight: "trust",
            seen: "192.0.2.1 has no name.",
            advice: "Have your provider set the PTR record of 192.0.2.1 to the name in SMTP_HELO_NAME.",
          },
        ],
      },
    ],
    breakers: [
      {
        site: "google",
        provider: "google",
        route: "direct",
        domain: null,
        open_since: "2026-01-01T12:00:00.000Z",
        next_trial_at: "2026-01-01T12:15:00.000Z",
        reply: "550 5.7.1 our system has detected an unusual rate of mail",
      },
    ],
    breakers_open: 1,
    reduced_sites: [{ site: "mx.example.net", connections: 2 }],
    sites_reduced: 1,
  },
  pipeline: {
    workers: 3,
    jobs: { queued: 0, processing: 2 },
    tasks_outstanding: 120,
    oldest_task_seconds: 14,
    rows_deferred: { greylisted: 800 },
    dead_letters: 0,
  },
};
