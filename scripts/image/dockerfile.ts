/** One instruction as written; variables in it are not replaced yet. */
export interface Instruction {
  /** Number of its first line, from 1. */
  line: number;
  /** Upper case. */
  name: string;
  /** Text after the name, with continued lines joined. */
  text: string;
}

export interface Stage {
  name: string;
  /** An image, or the name of an earlier stage. */
  base: string;
  instructions: Instruction[];
}

export interface Dockerfile {
  /** ARG before the first FROM, by name. */
  args: ReadonlyMap<string, string>;
  stages: Stage[];
}

const KNOWN = [
  ...["ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "LABEL"],
  ...["USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"],
];

function instructionsOf(text: string): Instruction[] {
  const found: Instruction[] = [];
  let open: { line: number; parts: string[] } | null = null;
  for (const [index, raw] of text.split("\n").entries()) {
    const written = raw.trim();
    // Also between continued lines.
    if (written === "" || written.startsWith("#")) continue;
    open ??= { line: index + 1, parts: [] };
    const goesOn = written.endsWith("\\");
    open.parts.push(goesOn ? written.slice(0, -1).trim() : written);
    if (goesOn) continue;
    const [, name = "", rest = ""] = /^(\S+)\s*(.*)$/s.exec(open.parts.join(" ")) ?? [];
    found.push({ line: open.line, name: name.toUpperCase(), text: rest });
    open = null;
  }
  if (open !== null) throw new Error(`Dockerfile:${open.line}: the instruction goes on and the file ends`);
  return found;
}

/** Replaces `${NAME}` and `$NAME` by their values; unset ones by "". Backslashes and quotes are left as they are. */
export function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced, bare) => values.get(braced ?? bare) ?? "");
}

const unquoted = (text: string) => text.replace(/^"(.*)"$/s, "$1");

/** `NAME=value NAME="a value"` of ENV, LABEL and ARG; a name alone has no value. */
export function pairsOf(text: string): [name: string, value: string | null][] {
  return [...text.matchAll(/([\w.-]+)(?:=("[^"]*"|\S*))?/g)].map(([, name = "", value]) => [
    name,
    value === undefined ? null : unquoted(value),
  ]);
}

/** Splits leading `--name=value` options from the rest of an instruction. */
export function optionsOf(text: string): { options: ReadonlyMap<string, string>; rest: string } {
  const options = new Map<string, string>();
  let rest = text;
  for (;;) {
    const found = /^--([a-z-]+)(?:=(\S+))?\s+/.exec(rest);
    if (found === null) return { options, rest };
    options.set(found[1] ?? "", found[2] ?? "");
    rest = rest.slice(found[0].length);
  }
}

/** The words of the JSON form of a command, or null where it is the shell form. */
export function jsonForm(text: string): string[] | null {
  if (!text.startsWith("[")) return null;
  const words: unknown = JSON.parse(text);
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string"))
    throw new Error(`not a list of words: ${text}`);
  return words;
}

/**
 * Reads a Dockerfile, as far as ours uses its language: no heredocs, no escapes but the one at the end of a line.
 * @throws Error with the line, at an instruction that is not known
 */
export function parseDockerfile(text: string): Dockerfile {
  const args = new Map<string, string>();
  const stages: Stage[] = [];
  for (const instruction of instructionsOf(text)) {
    const { name, line } = instruction;
    if (!KNOWN.includes(name)) throw new Error(`Dockerfile:${line}: ${name} is not understood here`);
    const stage = stages.at(-1);
    if (name === "FROM") {
      const [, base = "", as = String(stages.length)] =
        /^(\S+)(?:\s+as\s+(\S+))?$/i.exec(instruction.text) ?? [];
      if (base === "") throw new Error(`Dockerfile:${line}: FROM names no image`);
      stages.push({ name: as, base: expand(base, args), instructions: [] });
    } else if (stage !== undefined) stage.instructions.push(instruction);
    else if (name === "ARG") for (const [key, value] of pairsOf(instruction.text)) args.set(key, value ?? "");
    else throw new Error(`Dockerfile:${line}: ${name} before the first FROM`);
  }
  return { args, stages };
}

/** Settings of a container of a stage, with the instructions of its bases. */
export interface ImageSettings {
  workdir: string;
  env: Readonly<Record<string, string>>;
  /** `uid:gid`; "" is root. */
  user: string;
  entrypoint: string[];
  healthcheck: string[] | null;
  labels: Readonly<Record<string, string>>;
  ports: number[];
  stopSignal: string;
}

/** The stage and its bases, the lowest first. @throws Error when no stage has the name */
export function lineageOf({ stages }: Dockerfile, name: string): Stage[] {
  const stage = stages.find((known) => known.name === name);
  if (stage === undefined) throw new Error(`the Dockerfile has no stage ${name}`);
  const base = stages.find((known) => known.name === stage.base);
  return base === undefined ? [stage] : [...lineageOf({ args: new Map(), stages }, base.name), stage];
}

/** @param buildArgs as of --build-arg */
export function settingsOf(
  dockerfile: Dockerfile,
  name: string,
  buildArgs: ReadonlyMap<string, string>,
): ImageSettings {
  const settings = { workdir: "/", user: "", stopSignal: "SIGTERM", entrypoint: [] as string[] };
  const env: Record<string, string> = {};
  const labels: Record<string, string> = {};
  const ports: number[] = [];
  let healthcheck: string[] | null = null;
  const values = new Map<string, string>();
  for (const { name: verb, text } of lineageOf(dockerfile, name).flatMap((stage) => stage.instructions)) {
    if (verb === "ARG")
      for (const [key, standard] of pairsOf(text)) values.set(key, buildArgs.get(key) ?? standard ?? "");
    if (verb === "ENV") for (const [key, value] of pairsOf(text)) env[key] = expand(value ?? "", values);
    if (verb === "LABEL") for (const [key, value] of pairsOf(text)) labels[key] = expand(value ?? "", values);
    if (verb === "WORKDIR") settings.workdir = text;
    if (verb === "USER") settings.user = text;
    if (verb === "STOPSIGNAL") settings.stopSignal = text;
    if (verb === "EXPOSE") ports.push(...text.split(/\s+/).map(Number));
    if (verb === "ENTRYPOINT") settings.entrypoint = jsonForm(text) ?? ["/bin/sh", "-c", text];
    if (verb === "HEALTHCHECK") healthcheck = jsonForm(optionsOf(text).rest.replace(/^CMD\s+/, ""));
  }
  return { ...settings, env, labels, ports, healthcheck };
}
