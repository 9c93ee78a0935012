import assert from "node:assert/strict";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Builder, build, findBuilder } from "../../../scripts/manifests/builds.ts";
import {
  type Container,
  type Document,
  ofKind,
  parseDocuments,
  workloadsOf,
} from "../../../scripts/manifests/documents.ts";
import { findHelms, renderChart } from "../../../scripts/manifests/helm.ts";
import { run } from "../../../scripts/manifests/run.ts";
import type { DocumentedMain } from "./main.ts";
import type { Call, CallOutcome, StandIn } from "./shell.ts";

type RunNode = DocumentedMain["node"];

/** `kubectl`, `helm` and `kind` without a cluster: what they name has to be in the manifests, and commands of pods are run here. */

const ROOT = resolve(import.meta.dirname, "../../..");
const BUILD_WITHIN_MS = 60_000;
const builder: Builder = await findBuilder(ROOT);

const pathIn = ({ cwd }: Call, path: string) => {
  const full = resolve(cwd, path);
  assert.ok(existsSync(full), `there is no ${path}`);
  return realpathSync(full);
};

const builds = new Map<string, Promise<Document[]>>();

function overlay(folder: string): Promise<Document[]> {
  const made = builds.get(folder) ?? build({ name: folder, folder, text: null }, builder);
  builds.set(folder, made);
  return made;
}

/** What both overlays make: a document names objects of either. */
const allObjects = async () =>
  (
    await Promise.all(["local", "production"].map((name) => overlay(join(ROOT, "k8s/overlays", name))))
  ).flat();

/** The Job of the migration; `k8s/upgrade.sh` adds a checksum to its name. */
const MIGRATION = "rcpt-migrate-";

const KINDS: Readonly<Record<string, string>> = {
  deploy: "Deployment",
  deployment: "Deployment",
  job: "Job",
  svc: "Service",
};

async function named(text: string): Promise<Document[]> {
  const [kind = "", name] = text.split("/");
  const found = (await allObjects()).filter((one) => one.kind === KINDS[kind] && one.metadata.name === name);
  assert.ok(found.length > 0, `no manifest has ${text}`);
  return found;
}

async function apply(call: Call, [how = "", path = "", ...rest]: string[]): Promise<void> {
  if (how === "--dry-run=server") return apply(call, [path, ...rest]);
  assert.match(rest.join(" "), /^(-l \S+)?$/);
  const full = pathIn(call, path);
  const objects = how === "-k" ? await overlay(full) : parseDocuments(readFileSync(full, "utf8"));
  assert.ok(["-k", "-f"].includes(how) && objects.length > 0, `kubectl apply ${how} ${path}`);
}

async function portForward([target = "", ports = ""]: string[]): Promise<void> {
  const wanted = Number(ports.split(":").at(-1));
  const services = (await named(target)) as unknown as Document<{ ports: { port: number }[] }>[];
  assert.ok(
    services.some(({ spec }) => spec.ports.some(({ port }) => port === wanted)),
    `${target} has no port ${wanted}`,
  );
}

const roleOf = ({ env = [] }: Container) => env.find(({ name }) => name === "ROLE")?.value ?? "";

/** A command of a pod runs as that pod's role. */
async function exec(node: RunNode, call: Call, [target = "", mark, program, ...args]: string[]) {
  assert.equal(mark, "--");
  assert.equal(program, "node", "not a program that pods are for");
  const [workload] = workloadsOf(await named(target));
  const [container] = workload?.pod.containers ?? [];
  assert.ok(container);
  await node({ ...call, args, env: { ...call.env, ROLE: roleOf(container) } });
}

async function inNamespace(name = ""): Promise<void> {
  const namespaces = ofKind(await allObjects(), "Namespace").map(({ metadata }) => metadata.name);
  assert.ok(namespaces.includes(name), `no manifest makes the namespace ${name}`);
}

/** @param jobStates of the migration's Job, from one call to the next */
async function get([kind = "", name = ""]: string[], jobStates: string[]): Promise<string> {
  if (kind === "namespace") await inNamespace(name);
  // Of all of a kind: nothing is left from an earlier version here.
  else if (name === "-l") return "";
  else if (kind === "job") {
    assert.ok(name.startsWith(MIGRATION), `no manifest has job/${name}`);
    return jobStates.shift() ?? "Complete ";
  } else await named(kind.includes("/") ? kind : `${kind}/${name}`);
  return "";
}

/** In the cluster of this stand-in, the Job of `k8s/upgrade.sh` does not exist at first, and is then complete. */
export function createKubectl(node: RunNode): StandIn {
  const jobStates = ["", "Complete "];
  return (call) => kubectl(node, call, jobStates);
}

async function kubectl(node: RunNode, call: Call, jobStates: string[]): Promise<CallOutcome> {
  const isNamed = ["-n", "--namespace"].includes(call.args[0] ?? "");
  if (isNamed) await inNamespace(call.args[1]);
  const [verb, ...args] = call.args.slice(isNamed ? 2 : 0);
  if (verb === "kustomize") {
    const options = { cwd: pathIn(call, args[0] ?? ""), timeoutMs: BUILD_WITHIN_MS, stdoutOnly: true };
    return { stdout: (await run(builder.command, [...builder.args, "."], options)).output };
  }
  if (verb === "config") return { stdout: "no cluster\n" };
  if (verb === "get") return { stdout: await get(args, jobStates) };
  if (verb === "apply") await apply(call, args);
  else if (verb === "port-forward") await portForward(args);
  else if (verb === "exec") await exec(node, call, args);
  else if (verb === "delete") await named(args.join("/"));
  else if (verb === "rollout") {
    assert.ok(["restart", "status"].includes(args[0] ?? ""));
    const targets = args.slice(1).filter((word) => word.includes("/"));
    assert.ok(targets.length > 0);
    for (const target of targets) await named(target);
  } else assert.fail(`kubectl ${verb}: no test knows what it should be held to`);
  return {};
}

/** Documented commands of Helm whose values no Helm has rendered, since there is none: `npm run manifests` builds one where there is Go. */
export const unrendered: string[] = [];

/** Renders the chart with the documented values where there is a Helm. */
export async function helm(call: Call): Promise<void> {
  const { values, positionals } = parseArgs({
    args: call.args,
    options: {
      namespace: { type: "string" },
      values: { type: "string", multiple: true, default: [] },
      install: { type: "boolean" },
      wait: { type: "boolean" },
      timeout: { type: "string" },
    },
    allowPositionals: true,
  });
  const [verb = "", release, chart = "", ...rest] = positionals;
  assert.ok(["install", "upgrade"].includes(verb) && release === "rcpt" && rest.length === 0);
  assert.match(values.timeout ?? "5m", /^\d+[smh]$/);
  assert.ok(existsSync(join(pathIn(call, chart), "Chart.yaml")), `${chart} is no chart`);
  const files = values.values.map((file) => pathIn(call, file));
  const [program] = await findHelms(ROOT);
  if (program === undefined) {
    unrendered.push(call.args.join(" "));
    return;
  }
  await renderChart(
    ROOT,
    program,
    files.flatMap((file) => ["-f", file]),
  );
}

/** @param images that the documents have built so far */
export async function kind({ args }: Call, images: ReadonlySet<string>): Promise<void> {
  const [load, what, image = "", ...rest] = args;
  assert.deepEqual([load, what, rest], ["load", "docker-image", []]);
  assert.ok(images.has(image), `no document builds ${image} before`);
  const used = workloadsOf(await allObjects()).flatMap(({ pod }) => pod.containers.map((one) => one.image));
  assert.ok(used.includes(image), `no overlay runs ${image}`);
}
