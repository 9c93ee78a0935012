import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { parse } from "yaml";
import { pairsOf, parseDockerfile } from "../../../scripts/image/dockerfile.ts";
import { VERSION } from "../../../src/platform/version.ts";
import type { DocumentedMain } from "./main.ts";
import type { Call, CallOutcome } from "./shell.ts";

type Runs = Pick<DocumentedMain, "run" | "node">;

/** `docker` without an engine: held to Dockerfile and compose.yaml, and what a container would run is run here. */

const ROOT = resolve(import.meta.dirname, "../../..");
const textOf = (path: string) => readFileSync(join(ROOT, path), "utf8");

interface ComposeService {
  image: string;
  environment?: Record<string, string>;
}
const { services } = parse(textOf("compose.yaml"), { merge: true }) as {
  services: Record<string, ComposeService>;
};

type Options = NonNullable<ParseArgsConfig["options"]>;
const flag = { type: "boolean" } as const;
const text = { type: "string", multiple: true } as const;

/** Options of docker's own, as far as its first word that is none; what follows is the container's. */
function splitDockerOptions(
  args: string[],
  options: Options,
): { values: Record<string, unknown>; rest: string[] } {
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  const first = tokens.find(({ kind }) => kind === "positional")?.index ?? args.length;
  const { values } = parseArgs({ args: args.slice(0, first), options });
  return { values, rest: args.slice(first) };
}

const listOf = (value: unknown) => (value ?? []) as string[];

/** `-e NAME=VALUE`: a value may have `=` in it. */
function pairOf(text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  assert.ok(at > 0, `-e ${text} gives no value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** @param images tags that were built, added to */
function buildImage({ args, cwd }: Call, images: Set<string>): void {
  const { values, rest } = splitDockerOptions(args, {
    tag: { ...text, short: "t" },
    "build-arg": text,
    target: { type: "string" },
  });
  const { args: globals, stages } = parseDockerfile(textOf("Dockerfile"));
  const known = stages.flatMap(({ instructions }) =>
    instructions
      .filter(({ name }) => name === "ARG")
      .flatMap((one) => pairsOf(one.text).map(([name]) => name)),
  );
  for (const given of listOf(values["build-arg"])) {
    const [name = ""] = given.split("=");
    assert.ok(globals.has(name) || known.includes(name), `Dockerfile has no ARG ${name}`);
  }
  const target = values.target ?? "production";
  assert.ok(
    stages.some(({ name }) => name === target),
    `Dockerfile has no stage ${target}`,
  );
  assert.equal(rest.length, 1, "one context");
  assert.ok(existsSync(join(cwd, rest[0] ?? "", "Dockerfile")), `no Dockerfile in ${rest[0]}`);
  for (const tag of listOf(values.tag)) images.add(tag);
}

const RUN = {
  ...{ rm: flag, "read-only": flag, detach: { ...flag, short: "d" } },
  ...{ tmpfs: text, "cap-drop": text, "env-file": text },
  ...{ env: { ...text, short: "e" }, publish: { ...text, short: "p" } },
};

async function runImage(main: Runs, { args, cwd }: Call): Promise<void> {
  const { values, rest } = splitDockerOptions(args, RUN);
  const [image, ...command] = rest;
  assert.equal(image, `rcpt:${VERSION}`);
  for (const file of listOf(values["env-file"]))
    assert.ok(existsSync(join(cwd, file)), `there is no ${file}`);
  await main.run(command, Object.fromEntries(listOf(values.env).map(pairOf)));
}

const serviceNamed = (name = "") => services[name] ?? assert.fail(`compose.yaml has no service ${name}`);
const isOurs = ({ image }: ComposeService) => image.startsWith("rcpt:");

/** pg_dump and pg_restore are in no embedded PostgreSQL: user and database are held to compose.yaml. */
function dump({ image, environment }: ComposeService, args: string[]): CallOutcome {
  assert.match(image, /^postgres:/);
  const { values, positionals } = parseArgs({
    args,
    options: {
      ...{ username: { type: "string", short: "U" }, format: { type: "string", short: "F" } },
      ...{ dbname: { type: "string", short: "d" }, clean: flag, "if-exists": flag },
    },
    allowPositionals: true,
  });
  const database = values.dbname ?? positionals[0];
  assert.deepEqual([values.username, database], [environment?.POSTGRES_USER, environment?.POSTGRES_DB]);
  return { stdout: "a dump\n" };
}

async function execIn(main: Runs, call: Call): Promise<CallOutcome> {
  const { rest } = splitDockerOptions(call.args, { "no-tty": { ...flag, short: "T" } });
  const [name, program = "", ...args] = rest;
  const service = serviceNamed(name);
  if (["pg_dump", "pg_restore"].includes(program)) {
    if (program === "pg_restore") assert.notEqual(call.input, "", "pg_restore reads a dump");
    return dump(service, args);
  }
  assert.ok(isOurs(service) && program === "node", `${program} in ${name}`);
  await main.node({ ...call, args, env: { ...call.env, ROLE: service.environment?.ROLE ?? "" } });
  return {};
}

async function compose(main: Runs, call: Call): Promise<CallOutcome> {
  assert.ok(existsSync(join(call.cwd, ".env")), "compose.yaml asks for values of .env");
  const [verb, ...args] = call.args;
  if (verb === "up") {
    const options = { build: flag, wait: flag, detach: { ...flag, short: "d" }, scale: text };
    const { values } = parseArgs({ args, options });
    for (const scale of values.scale ?? []) {
      const [, name, count] = /^(\w+)=(\d+)$/.exec(scale) ?? [];
      assert.ok(serviceNamed(name) && Number(count) > 0, scale);
    }
    return {};
  }
  if (verb === "exec") return execIn(main, { ...call, args });
  assert.equal(verb, "run", `docker compose ${verb}: no test knows what it should be held to`);
  const { rest } = splitDockerOptions(args, { rm: flag });
  const [name, ...command] = rest;
  const service = serviceNamed(name);
  assert.ok(isOurs(service), `${name} is not our image`);
  await main.run(command, { ROLE: service.environment?.ROLE ?? "" });
  return {};
}

/** @param images tags that were built, added to */
export async function docker(main: Runs, call: Call, images: Set<string>): Promise<CallOutcome> {
  const [verb, ...args] = call.args;
  const inner = { ...call, args };
  if (verb === "compose") return compose(main, inner);
  if (verb === "build") buildImage(inner, images);
  else if (verb === "run") await runImage(main, inner);
  else assert.fail(`docker ${verb}: no test knows what it should be held to`);
  return {};
}
