import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ImageSettings } from "./dockerfile.ts";
import type { Container, Room } from "./room.ts";

export interface Production {
  room: Room;
  layers: readonly string[];
  settings: ImageSettings;
  /** Environment of every container. */
  env: Readonly<Record<string, string>>;
  /** Folder of their logs. */
  work: string;
}

export interface Ended {
  /** e.g. `exit code 0` */
  how: string;
  output: string;
}

export interface Named {
  container: Container;
  /** All that it has written. */
  output(): string;
}

/** Containers of the production stage, each with a log of its own. */
export function createContainers({ room, layers, settings, env, work }: Production) {
  let count = 0;

  /** @param command instead of the entry point */
  function launch(command: readonly string[], changed: Readonly<Record<string, string>>): Named {
    count += 1;
    const logFile = join(work, `container-${count}.log`);
    const container = room.start({ layers, settings, env: { ...env, ...changed }, command, logFile });
    return { container, output: () => readFileSync(logFile, "utf8") };
  }

  async function toEnd({ container, output }: Named): Promise<Ended> {
    const how = await container.process.exited;
    return { how, output: output() };
  }

  return {
    /** `docker run IMAGE args` */
    start: (args: readonly string[], changed: Readonly<Record<string, string>> = {}) =>
      launch([...settings.entrypoint, ...args], changed),
    /** The same, to its end. */
    run: (args: readonly string[], changed: Readonly<Record<string, string>> = {}) =>
      toEnd(launch([...settings.entrypoint, ...args], changed)),
    /** `docker run --entrypoint node IMAGE -e script` */
    evaluate: (script: string) => toEnd(launch(["node", "-e", script], {})),
    /** The health check, as the engine runs it: with the settings of the container that it is about. */
    health: (changed: Readonly<Record<string, string>>) =>
      toEnd(launch(settings.healthcheck ?? ["false"], changed)),
  };
}

export type Containers = ReturnType<typeof createContainers>;
