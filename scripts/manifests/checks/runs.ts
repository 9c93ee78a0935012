import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { OPERATOR_COMMANDS } from "../../../src/operator/commands.ts";
import { parseDockerfile, settingsOf } from "../../image/dockerfile.ts";
import {
  type Container,
  type Document,
  ends,
  type Finding,
  type Workload,
  workloadsOf,
} from "../documents.ts";
import { type Environment, ownContainers } from "../environment.ts";

/** What our containers run: the image's own entry, with a verb that it knows or as the role that the workload is named for. */

const DOCKERFILE = resolve(import.meta.dirname, "../../../Dockerfile");
/** Verbs of `src/main.ts` beside the operator's. */
const VERBS = ["migrate", "preflight", "doctor", ...OPERATOR_COMMANDS.keys()];
/** Written by all of ours; a root that is read-only has no other place. */
const TMP = "/tmp";
/** Roles that work on lists on a disk. */
const WITH_SCRATCH = ["api", "bulk"];

/** `ENTRYPOINT` of the image. */
function entryOfImage(): string[] {
  return settingsOf(parseDockerfile(readFileSync(DOCKERFILE, "utf8")), "production", new Map()).entrypoint;
}

function checkCommand({ command, args = [] }: Container, workload: Workload, entry: string[]): string[] {
  const found: string[] = [];
  if (command !== undefined && !isDeepStrictEqual(command, entry))
    found.push(`runs ${command.join(" ")}, and the image has ${entry.join(" ")}`);
  const [verb] = args;
  if (ends(workload)) {
    if (verb === undefined) found.push("says no verb: it would serve, and never end");
    else if (!VERBS.includes(verb)) found.push(`says the verb ${verb}, which there is not`);
  } else if (verb !== undefined) found.push(`says the verb ${verb}, and is there to serve`);
  return found;
}

function checkRole({ labels, ...workload }: Workload, { values }: Environment): string[] {
  if (ends({ labels, ...workload })) return [];
  const wanted = labels["app.kubernetes.io/component"];
  const role = values.get("ROLE");
  return role === wanted
    ? []
    : [`has the role ${role ?? "that is the standard (all)"}, and is named ${wanted}`];
}

/** Folders that can be written, by the paths where they are mounted. */
function writable({ volumeMounts = [] }: Container, { pod }: Workload): string[] {
  return volumeMounts
    .filter(({ name }) => pod.volumes?.find((one) => one.name === name)?.emptyDir !== undefined)
    .filter(({ readOnly }) => readOnly !== true)
    .map(({ mountPath }) => mountPath);
}

function checkFolders(container: Container, workload: Workload, { values }: Environment): string[] {
  const there = writable(container, workload);
  const scratch = values.get("SCRATCH_DIR");
  const needed = WITH_SCRATCH.includes(values.get("ROLE") ?? "") ? [TMP, scratch ?? "/scratch"] : [TMP];
  return needed
    .filter((path) => !there.includes(path))
    .map((path) => `writes to ${path}, and nothing that can be written is mounted there`);
}

export function checkRuns(documents: readonly Document[]): Finding[] {
  const entry = entryOfImage();
  return ownContainers(documents, workloadsOf(documents)).flatMap(({ workload, container, environment }) =>
    [
      ...checkCommand(container, workload, entry),
      ...checkRole(workload, environment),
      ...checkFolders(container, workload, environment),
    ].map((text) => ({ where: workload.name, text })),
  );
}
