import type { SelfIdentity } from "../check/classify/classify.ts";
import type { Evidence } from "../check/evidence.ts";
import { createIdentities } from "../check/identity.ts";
import { loadLists, openLists } from "../check/lists/lists.ts";
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
import { createKeeping } from "../services/verify/keeping.ts";
import { createPaths } from "../smtp/path.ts";
import { replaceEvidence, scanEvidence } from "../store/evidence-scan.ts";
import { runBootstrap } from "./bootstrap.ts";
import type { Terminal } from "./command.ts";
import { withDatabase, withPublisher, withRedis } from "./connections.ts";
import { runDoctor } from "./doctor.ts";
import { runOverrides } from "./overrides.ts";
import { runPreflight } from "./preflight.ts";
import { SOMEBODY } from "./reclassification.ts";
import { runReclassify } from "./reclassify.ts";
import { runTeam } from "./team.ts";

/** What a command is run with. */
interface Operation extends Terminal {
  argv: string[];
  config: Config;
}

/** The exit code: 0 done, 2 wrong arguments. Other failures reject. */
type OperatorCommand = (operation: Operation) => Promise<number>;

/** Runs also where there is no deployment yet: it needs neither a database nor anything else. */
export async function preflightCommand({
  config,
  ...command
}: Terminal & { argv: string[]; config: PreflightConfig }): Promise<number> {
  const preflight = composePreflight(config, ownShaping(config), systemClock);
  try {
    return await runPreflight({ ...command, ways: preflight.ways, begin: () => preflight.begin() });
  } finally {
    await preflight.close();
  }
}

/** Runs also where settings are wrong, or nothing answers: that is what it tells. */
export function doctorCommand(
  command: Terminal & { argv: string[]; env?: NodeJS.ProcessEnv },
): Promise<number> {
  return runDoctor({ ...command, clock: systemClock, diagnose: () => diagnoseConfig(command.env) });
}

/** What servers may call us by, by the ways that are configured now; of a way that is none of them, all names. */
function ownNames(config: Config): (path: string) => SelfIdentity {
  const paths = createPaths(config.smtp, loadShaping(ownShaping(config)).ways);
  const identities = createIdentities(config.smtp, paths, () => null);
  const known = new Set(paths.all.map(({ name }) => name));
  const addresses = paths.all.flatMap(({ name }) => identities.at(name).addresses);
  const any = { heloName: config.smtp.heloName, addresses: [...new Set(addresses)] };
  return (path) => (known.has(path) ? identities.at(path) : any);
}

/** How long this deployment keeps what probes find. @throws ConfigError for an unknown reason in CACHE_LIFETIMES */
function ownKeeping(config: Config) {
  const keep = createKeeping(readLifetimes(config.verify.lifetimesS));
  return (evidence: Evidence) => keep("probed", SOMEBODY, evidence);
}

/** What `main` runs on a deployment besides serving, by verb: commands for whoever operates it. */
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
        keep: ownKeeping(config),
        withShelf: (work) =>
          withRedis(config, (redis) =>
            work({
              scan: () => scanEvidence(redis),
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
        withOperations: (work) =>
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
