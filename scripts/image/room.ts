import { readFileSync } from "node:fs";
import type { Guard } from "../embedded/guard.ts";
import { type ServiceProcess, startService } from "../embedded/service.ts";
import type { ImageSettings } from "./dockerfile.ts";

/** A step of a build. */
export interface BuildStep {
  /** Folders that the stage's file system is made of; the first one receives all writes. */
  layers: readonly string[];
  workdir: string;
  env: Readonly<Record<string, string>>;
  /** For `/bin/sh -c`. */
  command: string;
  /** Whether the step needs npm's cache. */
  wantsNpmCache: boolean;
  logFile: string;
}

/** A container of the production stage. */
export interface ContainerSpec {
  layers: readonly string[];
  settings: ImageSettings;
  /** Variables beside those that the image sets, like `docker run --env`. */
  env: Readonly<Record<string, string>>;
  command: readonly string[];
  logFile: string;
}

export interface Container {
  process: ServiceProcess;
  /** Sends a signal to process 1. */
  signal(name: NodeJS.Signals): void;
}

/** Builds stages and runs containers, in place of a container engine. */
export interface Room {
  /** Description for the report. */
  description: string;
  /** Whether a file system has all layers; otherwise only the first. */
  stacksLayers: boolean;
  /** Starts a step; the caller checks how it ends. */
  build(step: BuildStep): ServiceProcess;
  start(spec: ContainerSpec): Container;
}

export const STOP_GRACE_MS = 40_000;

/** The numbers of `uid:gid`. */
function idsOf(user: string): { uid: number; gid: number } {
  const [uid = 0, gid = 0] = user.split(":").map(Number);
  return { uid, gid };
}

/** Path of a stage's file on this machine: layers hold only what differs from their base. */
const under = (layers: readonly string[], path: string) => `${layers[0]}${path}`;

/**
 * Uses this machine's Node.js and libraries: of the image's file system it has only the files that the stages add, and
 * at another path. As root, containers run as the image's user, else as the current one. The caller makes their tree
 * read-only before.
 */
export function createHostRoom(
  guard: Guard,
  { env: hostEnv, asRoot }: { env: NodeJS.ProcessEnv; asRoot: boolean },
): Room {
  return {
    stacksLayers: false,
    description: `this machine's Node.js ${process.versions.node}`,
    build: ({ layers, workdir, env, command, logFile }) =>
      startService({
        command: "/bin/sh",
        args: ["-c", command],
        cwd: under(layers, workdir),
        env: { ...hostEnv, ...env },
        logFile,
        stopSignal: "SIGTERM",
        stopGraceMs: STOP_GRACE_MS,
        guard,
      }),
    start({ layers, settings, env, command, logFile }) {
      const scratch = under(layers, settings.env.SCRATCH_DIR ?? "/tmp");
      const cwd = under(layers, settings.workdir);
      const [program = "", ...args] = command;
      const child = startService({
        command: program === "node" ? process.execPath : program,
        args,
        cwd,
        env: {
          PATH: process.env.PATH,
          ...settings.env,
          HOME: cwd,
          SCRATCH_DIR: scratch,
          TMPDIR: scratch,
          ...env,
        },
        logFile,
        stopSignal: settings.stopSignal as NodeJS.Signals,
        stopGraceMs: STOP_GRACE_MS,
        guard,
        ...(asRoot ? { user: idsOf(settings.user) } : {}),
      });
      return { process: child, signal: (name) => void process.kill(child.pid, name) };
    },
  };
}

/** The only child of a process: process 1 of the namespace that `unshare` has made. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
}

const ENTER = new URL("./enter.sh", import.meta.url).pathname;
const UNSHARE = ["--mount", "--pid", "--ipc", "--fork", "--kill-child=SIGKILL", "sh", ENTER];
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export interface NamespaceRoomOptions {
  /** Folders that the image is based on, the first on top. */
  base: readonly string[];
  /** An empty folder to mount at; each process has it to itself. */
  mount: string;
  /** npm's cache on this machine, complete for the lockfile, and the registry it is of. */
  npm: { cache: string; registry: string };
  description: string;
}

/**
 * Namespaces and the base image's own distribution and Node.js, as root: process 1, the image's user, a file system that is
 * read-only. The network is this machine's.
 */
export function createNamespaceRoom(guard: Guard, options: NamespaceRoomOptions): Room {
  const { base, mount, npm, description } = options;
  const enter = (
    at: { lowers: readonly string[]; upper: string; cache: string; user: string; workdir: string },
    command: readonly string[],
    spawned: { env: Record<string, string>; logFile: string },
  ) =>
    startService({
      command: "unshare",
      args: [
        ...UNSHARE,
        ...[mount, at.lowers.join(":"), at.upper, at.cache, at.user, at.workdir],
        ...command,
      ],
      ...spawned,
      // `unshare` is deaf to the others; with it goes all of the namespace.
      stopSignal: "SIGKILL",
      stopGraceMs: STOP_GRACE_MS,
      guard,
    });
  return {
    stacksLayers: true,
    description,
    build({ layers, workdir, env, command, wantsNpmCache, logFile }) {
      const [upper = "", ...below] = layers;
      const at = { lowers: [...below, ...base], upper, user: "", workdir };
      // Dependencies are in npm's cache already: a registry may need settings that only this machine's npm has.
      const offline = { npm_config_offline: "true", npm_config_registry: npm.registry };
      return enter({ ...at, cache: wantsNpmCache ? npm.cache : "" }, ["/bin/sh", "-c", command], {
        env: { PATH, HOME: "/root", ...offline, ...env },
        logFile,
      });
    },
    start({ layers, settings, env, command, logFile }) {
      const at = { lowers: [...layers, ...base], upper: "", cache: "" };
      const child = enter({ ...at, user: settings.user, workdir: settings.workdir }, command, {
        env: { PATH, HOME: "/", ...settings.env, ...env },
        logFile,
      });
      return { process: child, signal: (name) => void process.kill(childOf(child.pid), name) };
    },
  };
}
