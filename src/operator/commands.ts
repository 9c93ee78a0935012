import { readLifetimes } from "../app/checks/lifetimes.ts";
import { composePreflight } from "../app/checks/preflight.ts";
import { ownShaping } from "../app/checks/shaping.ts";
import { type Config, diagnoseConfig, type PreflightConfig } from "../config/config.ts";
import { localUrl } from "../config/local-url.ts";
import { createSelfIdentities } from "../egress/self-identities.ts";
import { loadShaping } from "../egress/shaping.ts";
import { createMakeResetLink } from "../features/accounts/reset-link.ts";
import { createPromotion } from "../features/overrides/promotion.ts";
import { bootstrap } from "../features/teams/bootstrap.ts";
import { createTeamOperations } from "../features/teams/operations.ts";
import { replaceEvidence, scanEvidence } from "../features/verify/cache/evidence-scan.ts";
import { createRetention } from "../features/verify/cache/retention.ts";
import { systemClock } from "../platform/time/clock.ts";
import { createEgressRoutes } from "../smtp/wire/egress-routes.ts";
import type { SelfIdentity } from "../verification/classify/classify.ts";
import { EVIDENCE_CODEC } from "../verification/evidence/model.ts";
import type { Evidence } from "../verification/evidence.ts";
import { loadLists, openLists } from "../verification/lists/lists.ts";
import { runBootstrap } from "./bootstrap.ts";
import type { Terminal } from "./command.ts";
import { withDatabase, withPublisher, withRedis } from "./connections.ts";
import { runDoctor } from "./doctor.ts";
import { runOverrides } from "./overrides.ts";
import { runPreflight } from "./preflight.ts";
import { PLACEHOLDER_ADDRESS } from "./reclassification.ts";
import { runReclassify } from "./reclassify.ts";
import { runTeam } from "./team.ts";

/** The context of a command. */
interface Operation extends Terminal {
  argv: string[];
  config: Config;
}

/** The exit code: 0 done, 2 wrong arguments. Other failures reject. */
type OperatorCommand = (operation: Operation) => Promise<number>;

/** Also runs without a deployment: it needs no database or other service. */
export async function preflightCommand({
  config,
  ...command
}: Terminal & { argv: string[]; config: PreflightConfig }): Promise<number> {
  const preflight = composePreflight(config, ownShaping(config), systemClock);
  try {
    return await runPreflight({ ...command, routes: preflight.routes, startRun: () => preflight.startRun() });
  } finally {
    await preflight.close();
  }
}

/** Also runs with wrong settings, or unreachable services: it reports them. */
export function doctorCommand(
  command: Terminal & { argv: string[]; env?: NodeJS.ProcessEnv },
): Promise<number> {
  return runDoctor({ ...command, clock: systemClock, diagnose: () => diagnoseConfig(command.env) });
}

/** The names that servers may use for us, by configured egress route; for an unknown route all names. */
function ownNames(config: Config): (path: string) => SelfIdentity {
  const paths = createEgressRoutes(config.smtp, loadShaping(ownShaping(config)).routes);
  const identities = createSelfIdentities(config.smtp, paths, () => null);
  const known = new Set(paths.all.map(({ name }) => name));
  const addresses = paths.all.flatMap(({ name }) => identities.at(name).addresses);
  const any = { heloName: config.smtp.heloName, addresses: [...new Set(addresses)] };
  return (path) => (known.has(path) ? identities.at(path) : any);
}

/** The retention of probe results in this deployment. @throws ConfigError for an unknown reason in CACHE_LIFETIMES */
function ownRetention(config: Config) {
  const keep = createRetention(readLifetimes(config.verify.lifetimesS));
  return (evidence: Evidence) => keep("probed", PLACEHOLDER_ADDRESS, evidence);
}

/** The commands of `main` for operators, by verb. */
export const OPERATOR_COMMANDS: ReadonlyMap<string, OperatorCommand> = new Map<string, OperatorCommand>([
  [
    "bootstrap",
    ({ config, ...command }) =>
      runBootstrap({ ...command, run: (input) => withDatabase(config, (sql) => bootstrap(sql, input)) }),
  ],
  [
    "overrides",
    ({ config, ...command }) =>
      runOverrides({
        ...command,
        withPromotion: (work) =>
          withDatabase(config, (sql) => work(createPromotion({ sql, lists: openLists(loadLists()) }))),
      }),
  ],
  [
    "reclassify",
    ({ config, ...command }) =>
      runReclassify({
        ...command,
        selfAt: ownNames(config),
        keep: ownRetention(config),
        withEvidenceStore: (work) =>
          withRedis(config, (redis) =>
            work({
              scan: () => scanEvidence(redis, EVIDENCE_CODEC),
              replace: (known, text, mostS) => replaceEvidence(redis, known, text, mostS),
            }),
          ),
      }),
  ],
  [
    "team",
    ({ config, ...command }) =>
      runTeam({
        ...command,
        withTeamOperations: (work) =>
          withPublisher(config, (sql, publisher) =>
            work({
              ...createTeamOperations({ sql, publisher, ownBucket: config.objects?.bucket ?? null }),
              resetLink: createMakeResetLink({
                sql,
                baseUrl: config.http.publicUrl ?? localUrl(config.http.host, config.http.port),
              }),
            }),
          ),
      }),
  ],
]);
