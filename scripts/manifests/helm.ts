import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Document, parseDocuments } from "./documents.ts";
import { findGo } from "./go.ts";
import { run } from "./run.ts";

/** Helm of the machine, or built by Go into the project's cache: no package registry for Node.js has it. */

const VERSION = "v3.22.0";
const MODULE = `helm.sh/helm/v3/cmd/helm@${VERSION}`;
const TIMEOUT_MS = 60_000;
const BUILD_WITHIN_MS = 1_800_000;
/** One that Go builds takes itself for a client of an older one. */
const KUBERNETES = "1.32.0";

export interface Helm {
  name: string;
  command: string;
}

async function answers(command: string, args: readonly string[], cwd: string): Promise<string | null> {
  const asked = await run(command, args, { cwd, timeoutMs: TIMEOUT_MS, stdoutOnly: true }).catch(() => null);
  return asked?.code === 0 ? asked.output.trim() : null;
}

/** Helm on PATH, or one that was built before; null: none. */
export async function findHelm(root: string): Promise<Helm | null> {
  const built = join(root, ".rcpt/cache", `helm-${VERSION}`, "helm");
  for (const command of ["helm", ...(existsSync(built) ? [built] : [])]) {
    const version = await answers(command, ["version", "--template", "{{.Version}}"], root);
    if (version !== null) return { name: `helm ${command === built ? VERSION : version}`, command };
  }
  return null;
}

/**
 * Helm, built where none is installed: minutes, once.
 * @returns why there is none: without Go, or without its modules, the chart is not checked
 */
export async function makeHelm(root: string, say: (line: string) => void): Promise<Helm | string> {
  const found = await findHelm(root);
  if (found !== null) return found;
  const go = await findGo(root);
  if (go === null) return "neither helm nor Go is installed";
  const env = { ...go, GOBIN: join(root, ".rcpt/cache", `helm-${VERSION}`) };
  say(`building helm ${VERSION} with Go: some minutes, once`);
  mkdirSync(env.GOBIN, { recursive: true });
  const made = await run("go", ["install", MODULE], { cwd: root, timeoutMs: BUILD_WITHIN_MS, env });
  if (made.code !== 0) return `Go does not build helm: ${made.errors.trim().slice(-2_000)}`;
  return (await findHelm(root)) ?? "the helm that Go built does not run";
}

/** Lines that say that base and components are links. */
const isExpected = (line: string) => line === "" || line.includes("found symbolic link in path");

/** @param args values, for example `-f FILE`, `--is-upgrade`. @throws Error with what helm said */
export async function renderChart(root: string, helm: Helm, args: readonly string[]): Promise<Document[]> {
  const all = ["template", "rcpt", join(root, "k8s/chart"), "--namespace", "rcpt"];
  const options = { cwd: root, timeoutMs: TIMEOUT_MS, stdoutOnly: true };
  const { code, output, errors } = await run(
    helm.command,
    [...all, "--kube-version", KUBERNETES, ...args],
    options,
  );
  const told = errors.split("\n").filter((line) => !isExpected(line));
  if (code !== 0 || told.length > 0) throw new Error(`helm cannot render the chart: ${told.join("\n")}`);
  return parseDocuments(output);
}
