import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import {
  type Dockerfile,
  expand,
  type Instruction,
  lineageOf,
  optionsOf,
  pairsOf,
  type Stage,
  settingsOf,
} from "./dockerfile.ts";
import { readDockerignore } from "./dockerignore.ts";
import type { Room } from "./room.ts";

export interface BuildOptions {
  dockerfile: Dockerfile;
  /** The build context. */
  context: string;
  /** Folder of the stages' layers and logs. */
  work: string;
  room: Room;
  buildArgs: ReadonlyMap<string, string>;
  say(line: string): void;
}

/** A stage that is being built, or is built. */
interface Building {
  stage: Stage;
  /** Its own layer, and those of the stages below it. */
  layers: string[];
  workdir: string;
  env: Record<string, string>;
  args: Map<string, string>;
}

export interface BuiltStage {
  layers: string[];
  /** Output of its steps, by instruction. */
  logs: string[];
}

const LOG_LINES_SHOWN = 40;

/** A failed step; `log` is all of its output, the message the last lines. */
export class StepFailed extends Error {
  readonly log: string;

  constructor(what: string, log: string) {
    const last = log.split("\n").slice(-LOG_LINES_SHOWN).join("\n");
    super(`${what}\n${last}`);
    this.log = log;
  }
}

/** Source of a COPY from a stage: the path in the first layer that has it. */
function inLayers(layers: readonly string[], path: string): string {
  const layer = layers.find((folder) => existsSync(join(folder, path)));
  if (layer === undefined) throw new Error(`COPY: the stage has no ${path}`);
  return join(layer, path);
}

/** Copies as COPY does: the content of a folder, or a file into a folder. */
function copyTo(from: string, to: string, isIgnored: (path: string) => boolean): void {
  mkdirSync(to, { recursive: true });
  if (!statSync(from).isDirectory()) {
    cpSync(from, join(to, basename(from)));
    return;
  }
  for (const name of readdirSync(from)) {
    const filter = (path: string) => !isIgnored(relative(from, path));
    cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true, filter });
  }
}

/** Builds stages of the Dockerfile and the stages that they need, each once. */
export class Build {
  readonly #options: BuildOptions;
  readonly #isIgnored: (path: string) => boolean;
  #commands = 0;
  readonly #built = new Map<string, Promise<BuiltStage & { building: Building }>>();

  constructor(options: BuildOptions) {
    this.#options = options;
    this.#isIgnored = readDockerignore(readFileSync(join(options.context, ".dockerignore"), "utf8"));
  }

  /** @throws StepFailed */
  stage(name: string): Promise<BuiltStage> {
    return this.#build(name);
  }

  /** Runs a command for `/bin/sh` in a built stage. @returns its output @throws StepFailed */
  async run(name: string, command: string): Promise<string> {
    const { building } = await this.#build(name);
    return this.#runCommand(building, { command, wantsNpmCache: false, what: command });
  }

  settings(name: string) {
    return settingsOf(this.#options.dockerfile, name, this.#options.buildArgs);
  }

  async #runStep(building: Building, { text, line }: Instruction): Promise<string> {
    const { options: given, rest } = optionsOf(text);
    const mount = given.get("mount") ?? "";
    const wantsNpmCache = mount.includes("type=cache") && mount.endsWith("/.npm");
    return this.#runCommand(building, {
      command: rest,
      wantsNpmCache,
      what: `Dockerfile:${line}: RUN ${rest}`,
    });
  }

  async #runCommand(
    { stage, layers, workdir, args, env }: Building,
    { command, wantsNpmCache, what }: { command: string; wantsNpmCache: boolean; what: string },
  ): Promise<string> {
    const { work, room, say } = this.#options;
    this.#commands += 1;
    const logFile = join(work, `${stage.name}-${this.#commands}.log`);
    say(`${stage.name}: RUN ${command}`);
    const given = Object.fromEntries([...args].filter(([, value]) => value !== ""));
    const step = room.build({
      ...{ layers, workdir, command, wantsNpmCache, logFile },
      env: { ...given, ...env },
    });
    const how = await step.exited;
    const log = readFileSync(logFile, "utf8").trim();
    if (how === "exit code 0") return log;
    throw new StepFailed(`${what}: ${how}`, log);
  }

  async #copy(building: Building, { text }: Instruction): Promise<void> {
    const { options: given, rest } = optionsOf(text);
    const words = rest.split(/\s+/);
    const to = words.pop() ?? "";
    if (!to.endsWith("/") && to !== ".")
      throw new Error(`COPY: ${to} may be a file or a folder: end it with /`);
    const target = join(building.layers[0] ?? "", to.startsWith("/") ? to : join(building.workdir, to));
    const from = given.get("from");
    const source = from === undefined ? null : await this.#build(from);
    for (const path of words) {
      if (source === null) copyTo(join(this.#options.context, path), target, this.#isIgnored);
      else copyTo(inLayers(source.layers, path), target, () => false);
    }
  }

  async #execute(building: Building, instruction: Instruction): Promise<string | null> {
    const { name, text } = instruction;
    if (name === "RUN") return this.#runStep(building, instruction);
    if (name === "COPY") await this.#copy(building, instruction);
    if (name === "ARG")
      for (const [key, standard] of pairsOf(text))
        building.args.set(key, this.#options.buildArgs.get(key) ?? expand(standard ?? "", building.args));
    if (name === "ENV")
      for (const [key, value] of pairsOf(text)) building.env[key] = expand(value ?? "", building.args);
    if (name === "WORKDIR") {
      building.workdir = text;
      mkdirSync(join(building.layers[0] ?? "", text), { recursive: true });
    }
    return null;
  }

  async #buildAnew(name: string): Promise<BuiltStage & { building: Building }> {
    const { dockerfile, work, room } = this.#options;
    const [stage, parent] = lineageOf(dockerfile, name).reverse();
    if (stage === undefined) throw new Error(`the Dockerfile has no stage ${name}`);
    const below = parent === undefined ? null : (await this.#build(parent.name)).building;
    const layer = join(work, name);
    const [parentLayer] = below?.layers ?? [];
    if (parent !== undefined && parentLayer !== undefined && !room.stacksLayers) {
      // The layer is moved, not copied: another stage based on it has it built again.
      renameSync(parentLayer, layer);
      this.#built.delete(parent.name);
    } else mkdirSync(layer);
    const building: Building = {
      stage,
      layers: [layer, ...(below?.layers ?? [])],
      workdir: below?.workdir ?? "/",
      env: { ...below?.env },
      args: new Map(below?.args),
    };
    const logs: string[] = [];
    for (const instruction of stage.instructions) {
      const log = await this.#execute(building, instruction);
      if (log !== null && log !== "") logs.push(log);
    }
    return { layers: building.layers, logs, building };
  }

  #build(name: string): Promise<BuiltStage & { building: Building }> {
    const known = this.#built.get(name);
    if (known !== undefined) return known;
    const fresh = this.#buildAnew(name);
    this.#built.set(name, fresh);
    return fresh;
  }
}
