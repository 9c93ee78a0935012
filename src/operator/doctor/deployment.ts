import { composePreflight } from "../../app/checks/preflight.ts";
import { ownShaping } from "../../app/checks/shaping.ts";
import type { Config } from "../../config/config.ts";
import { createSelfCheckShare } from "../../egress/self-check/self-check-reports.ts";
import { appliedMigrations } from "../../stores/postgres/migrate.ts";
import {
  type DeploymentFacts,
  JOBS_COUNTED,
  lookAtDeployment,
  type SessionRole,
} from "./deployment-facts.ts";
import {
  type DoctorFinding,
  type DoctorGroup,
  type DoctorSubject,
  type Examination,
  errorLine,
  fail,
  ok,
  skipped,
  warn,
} from "./finding.ts";
import { hasDatabase, openDatabase } from "./postgres.ts";
import { hasRedis, openRedis } from "./redis.ts";
import { concerns } from "./roles.ts";

/** A chunk takes seconds to minutes; longer with slow servers. */
const TASK_LONG_S = 1_800;
/** The relay looks about every second. */
const DUE_LONG_S = 600;

const DUTIES: Record<SessionRole, string> = {
  api: "nobody answers requests",
  bulk: "no job is worked on",
  relay: "no webhook and no mail goes out, and nothing is tidied",
};

/** Judges whether every role runs, and whether work gets done. Pure. */
export function judgeDeployment(
  facts: DeploymentFacts,
  config: Pick<Config, "objects" | "mail">,
): DoctorFinding[] {
  return [...judgeRoles(facts, config), judgeJobs(facts), ...judgeRelay(facts, config)];
}

/** A role that existing work waits for. */
function isMissed(role: SessionRole, facts: DeploymentFacts, { mail }: Pick<Config, "mail">): boolean {
  if (role === "bulk") return facts.unfinishedJobs > 0;
  return (
    role === "relay" && ((mail !== null && facts.oldestMailS !== null) || facts.oldestDeliveryS !== null)
  );
}

function judgeRoles(facts: DeploymentFacts, config: Pick<Config, "objects" | "mail">): DoctorFinding[] {
  const { sessions } = facts;
  if (sessions === null) return [skipped("roles", "A pooler hides which processes are connected.")];
  return (["api", "bulk", "relay"] as const).map((role) => {
    if (sessions[role] > 0) return ok(role, `It runs: ${sessions[role]} sessions with Postgres.`);
    if (role === "bulk" && config.objects === null)
      return skipped(role, "There is no bulk verification here.");
    const tell = isMissed(role, facts, config) ? fail : warn;
    return tell(
      role,
      `No process of the role ${role} is connected to Postgres: ${DUTIES[role]}.`,
      `Start one (ROLE=${role}), or see its log.`,
    );
  });
}

function judgeJobs({ unfinishedJobs, oldestTaskS }: DeploymentFacts): DoctorFinding {
  const check = "jobs";
  const many = unfinishedJobs >= JOBS_COUNTED ? `${JOBS_COUNTED} or more` : unfinishedJobs;
  const seen = `${many} jobs have not ended.`;
  if (oldestTaskS === null || oldestTaskS < TASK_LONG_S) return ok(check, seen);
  return warn(
    check,
    `${seen} A task of theirs has been in its stream or with a worker for ${Math.round(oldestTaskS / 60)} minutes.`,
    "Add bulk processes, or look at their log for a task that fails again and again (docs/runbook.md).",
  );
}

function judgeRelay(facts: DeploymentFacts, { mail }: Pick<Config, "mail">): DoctorFinding[] {
  const waits: [string, number | null][] = [
    ["webhooks", facts.oldestDeliveryS],
    ["mails", facts.oldestMailS],
  ];
  return waits.map(([check, seconds]) => {
    if (check === "mails" && mail === null)
      return skipped(check, "SMTP_OUT_URL is not set here: whether mails should go out is not known.");
    if (seconds === null || seconds < DUE_LONG_S) return ok(check, "None has been due for long.");
    return warn(
      check,
      `One has been due for ${Math.round(seconds / 60)} minutes.`,
      "See whether a relay runs, and its log.",
    );
  });
}

/** Judges whether the processes of our egress use the egress routes of these settings. */
async function judgeEgress(subject: DoctorSubject, examination: Examination): Promise<DoctorFinding> {
  const check = "egress";
  const { config, clock } = subject;
  const { redis, failure } = await openRedis(subject, examination);
  if (failure !== null) return skipped(check, "Redis cannot be asked.");
  const preflight = composePreflight(config, ownShaping(config), clock);
  examination.atEnd(() => preflight.close());
  const { egressId } = config.smtp;
  const look = await createSelfCheckShare(redis, egressId, preflight.settings).read();
  if (look === null)
    return warn(
      check,
      `No running process of egress ${egressId} has told of the ways out that these settings make.`,
      "Run the doctor with the settings of the running processes; those that share EGRESS_ID need the same HELO name, source addresses, proxies, shaping and DNS servers.",
    );
  const ways = look.reports.map(({ way, state }) => `${way} ${state}`).join(", ");
  return ok(check, `Processes of egress ${egressId} tell of the same ways: ${ways}.`);
}

export const DEPLOYMENT_GROUP: DoctorGroup = {
  name: "deployment",
  title: "running deployment",
  async examine(subject, examination) {
    if (!hasDatabase(subject, examination)) return;
    const sql = openDatabase(subject, examination);
    let facts: DeploymentFacts | null;
    try {
      const migrations = await appliedMigrations(sql);
      facts = migrations === null || migrations.pending.length > 0 ? null : await lookAtDeployment(sql);
    } catch (error) {
      return examination.note(skipped("processes", `Postgres cannot be asked (${errorLine(error)}).`));
    }
    if (facts === null) return examination.note(skipped("processes", "Migrations are pending."));
    examination.note(...judgeDeployment(facts, subject.config));
    if (!concerns(subject.config.role, "probes"))
      return examination.note(
        skipped(
          "egress",
          "A relay has no ways out to mail servers: run the doctor in a pod that probes too.",
        ),
      );
    const probes = (facts.sessions?.api ?? 1) + (facts.sessions?.bulk ?? 1) > 0;
    if (probes && hasRedis(subject, examination)) examination.note(await judgeEgress(subject, examination));
  },
};
