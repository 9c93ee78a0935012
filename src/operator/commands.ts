import type { SelfIdentity } from "../check/classify/classify.ts";
import { EVIDENCE_CODEC } from "../check/evidence/model.ts";
import type { Evidence } from "../check/evidence.ts";
import { loadLists, openLists } from "../check/lists/lists.ts";
import { createSelfIdentities } from "../check/self-identities.ts";
import { loadShaping } from "../check/shaping.ts";
import { readLifetimes } from "../compose/lifetimes.ts";
import { composePreflight } from "../compose/preflight.ts";
import { ownShaping } from "../compose/shaping.ts";
import { systemClock } from "../core/clock.ts";
import { type Config, diagnoseConfig, type PreflightConfig } from "../core/config.ts";
import { localUrl } from "../core/local-url.ts";
import { createMakeResetLink } from "../services/accounts/reset-link.ts";
import { createPromotion } from "../services/overrides/promotion.ts";
import { bootstrap } from "../services/teams/bootstrap.ts";
import { createTeamOperations } from "../services/teams/operations.ts";
import { createRetention } from "../services/verify/retention.ts";
import { createEgressRoutes } from "../smtp/egress-routes.ts";
import { replaceEvidence, scanEvidence } from "../store/evidence-scan.ts";
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

/** How long this deployment keeps probe results. @throws ConfigError for an unknown reason in CACHE_LIFETIMES */
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
