import { readLifetimes } from "./app/checks/lifetimes.ts";
import type { ServingRole, SingleRole } from "./app/role.ts";
import { type Config, ConfigError, loadConfig, loadPreflightConfig } from "./config/config.ts";
import { localUrl } from "./config/local-url.ts";
import type { Terminal } from "./operator/command.ts";
import { exitCodeOf } from "./platform/exit-codes.ts";
import { createLog, type Logger } from "./platform/log.ts";
import { systemClock } from "./platform/time/clock.ts";
import { availableCpus, gcFlags } from "./platform/v8/gc-flags.ts";
import { createSupervisor, isHurry } from "./supervisor.ts";

/**
 * The one entry: `main` serves the role that ROLE names, `main migrate` migrates schema and bucket, the other verbs are the
 * operator's commands. Exit codes are `EXIT`'s. Each verb loads only its own modules: reading the modules of all would be
 * half of the start of any.
 */
function usageOf(verbs: Iterable<string>): string {
  const commands = ["preflight", "doctor", ...verbs].map((verb) => `main ${verb} ...`);
  return ["usage: main [migrate]", ...commands].join("\n       ");
}

const KEEP_ALIVE_INTERVAL_MS = 60_000;

async function runMigrate(config: Config, log: Logger): Promise<void> {
  // Nothing else keeps this process alive while it waits for a Postgres that is away.
  const keepAlive = setInterval(() => undefined, KEEP_ALIVE_INTERVAL_MS);
  await migrateStores(config, log).finally(() => clearInterval(keepAlive));
}

async function migrateStores(config: Config, log: Logger): Promise<void> {
  const [
    { withDatabase },
    { migrate },
    { createObjectStore },
    { createOutageWait },
    { requirePrimary: askForPrimary },
  ] = await Promise.all([
    import("./operator/connections.ts"),
    import("./stores/postgres/migrate.ts"),
    import("./stores/objects/objects.ts"),
    import("./stores/postgres/outage-wait.ts"),
    import("./stores/postgres/postgres.ts"),
  ]);
  await withDatabase(config, async (sql) => {
    await createOutageWait({ clock: systemClock, log }).retryThroughOutage(() => askForPrimary(sql));
    await migrate(sql, log);
  });
  if (config.objects === null) return;
  const objects = createObjectStore(config.objects, systemClock);
  await objects.ensureBucket().finally(() => objects.stop());
}

/**
 * Runs `stop` once, at the first signal, or when the process that started this one is gone. `hurry` is for a person who
 * presses Ctrl-C again, here or at the supervisor. SIGTERM is not counted: a manager that ends a group of processes may
 * send it more than once.
 */
function onStop(stop: (why: string) => void, skipDrainWait: () => void): void {
  let asked = false;
  let interrupts = 0;
  const once = (why: string) => {
    if (asked) return;
    asked = true;
    stop(why);
  };
  process.on("SIGTERM", () => once("SIGTERM"));
  process.on("SIGINT", () => {
    interrupts += 1;
    if (interrupts > 1) skipDrainWait();
    once("SIGINT");
  });
  process.on("disconnect", () => once("the supervisor is gone"));
  process.on("message", (message) => {
    if (isHurry(message)) skipDrainWait();
  });
}

/**
 * Lets a signal end this process as it ends any other: process 1 of a container ignores signals without a handler.
 * @returns a function that removes the handlers
 */
function exitOnSignal(): () => void {
  const ends = { SIGTERM: () => process.exit(143), SIGINT: () => process.exit(130) };
  for (const [signal, end] of Object.entries(ends)) process.on(signal, end);
  return () => {
    for (const [signal, end] of Object.entries(ends)) process.off(signal, end);
  };
}

/** Reports over the IPC channel, if there is one, that this process serves. */
function reportReady(message: Record<string, unknown>): void {
  process.send?.({ type: "ready", ...message });
}

/** Check threads first: they are read by other cores while this one reads the rest, a third of a second. */
async function composeServingRole(config: Config & { role: SingleRole }, log: Logger): Promise<ServingRole> {
  // The one setting that names what only the table knows: wrong, it is to stop us before anything begins.
  readLifetimes(config.verify.lifetimesS);
  const hasThreads = config.role !== "relay";
  const startedThreads = hasThreads
    ? (await import("./app/checks/check-threads.ts")).startThreads(config, log)
    : undefined;
  const { composeRole } = await import("./app/role.ts");
  return composeRole(config, log, startedThreads);
}

async function serveRole(config: Config & { role: SingleRole }, log: Logger): Promise<void> {
  const composed = composeServingRole(config, log);
  // Installed first: a signal, or the loss of the supervisor, must not be missed while modules are read.
  const callLifecycle = (verb: "stop" | "hurry") => composed.then((made) => made.lifecycle[verb]());
  onStop(
    (why) => {
      log.info({ why }, "stopping");
      // An error in its composition is thrown below.
      void callLifecycle("stop").then(
        () => process.exit(0),
        () => undefined,
      );
    },
    () => void callLifecycle("hurry").catch(() => undefined),
  );
  const role = await composed;
  if (config.role !== "relay" && !config.smtp.heloNameGiven) {
    log.warn(
      { helo: config.smtp.heloName },
      "SMTP_HELO_NAME is not set: mail servers may turn a made-up name away, so their refusals make no address invalid",
    );
  }
  await role.lifecycle.start();
  // Stopped meanwhile: it never served.
  if (role.lifecycle.state !== "running") return;
  const ports = role.ports();
  log.info(ports, "serving");
  reportReady({ role: config.role, ...ports });
}

async function superviseRoles(config: Config, log: Logger): Promise<void> {
  const restoreSignals = exitOnSignal();
  await runMigrate(config, log);
  restoreSignals();
  const [, entry = ""] = process.argv;
  if (config.objects === null) log.warn("S3_BUCKET is not set: there is no bulk verification");
  const supervisor = createSupervisor({
    // Without object storage there is nothing that a worker could do.
    roles: config.objects === null ? ["api", "relay"] : ["api", "bulk", "relay"],
    entry,
    execArgv: [...process.execArgv, ...gcFlags(availableCpus())],
    log,
    clock: systemClock,
    graceMs: config.shutdownGraceMs,
  });
  const stop = (code: number) => void supervisor.stop().then(() => process.exit(code));
  onStop(
    () => stop(0),
    () => supervisor.hurry(),
  );
  void supervisor.gaveUp.then((error) => {
    log.fatal(error.message);
    stop(1);
  });
  const roles = await supervisor.start().catch(async (error: unknown) => {
    await supervisor.stop();
    throw error;
  });
  const api = roles.find((ready) => ready.role === "api");
  const url = config.http.publicUrl ?? localUrl(config.http.host, Number(api?.port));
  reportReady({ role: "all", url, port: api?.port, metricsPort: api?.metricsPort });
}

const terminal: Terminal = {
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
};

async function runCommand(command: string, argv: string[]): Promise<void> {
  exitOnSignal();
  const { OPERATOR_COMMANDS, doctorCommand, preflightCommand } = await import("./operator/commands.ts");
  if (command === "doctor") {
    process.exitCode = await doctorCommand({ ...terminal, argv });
    return;
  }
  if (command === "preflight") {
    process.exitCode = await preflightCommand({ ...terminal, argv, config: loadPreflightConfig() });
    return;
  }
  const config = loadConfig();
  const operator = OPERATOR_COMMANDS.get(command);
  if (operator === undefined) throw new ConfigError(usageOf(OPERATOR_COMMANDS.keys()));
  process.exitCode = await operator({ ...terminal, argv, config });
}

async function main([command, ...argv]: string[]): Promise<void> {
  if (command !== undefined && command !== "migrate") return runCommand(command, argv);
  const config = loadConfig();
  const log = createLog(config.logLevel, { role: command ?? config.role });
  if (command === "migrate") {
    exitOnSignal();
    return runMigrate(config, log);
  }
  if (config.role === "all") return superviseRoles(config, log);
  return serveRole({ ...config, role: config.role }, log);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`rcpt: ${text || (error as NodeJS.ErrnoException).code}\n`);
  process.exit(exitCodeOf(error));
});
