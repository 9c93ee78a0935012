import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build, findBuilder, listBuilds } from "../../../../scripts/manifests/builds.ts";
import type { Container, Document, PodSpec } from "../../../../scripts/manifests/documents.ts";

export const ROOT = resolve(import.meta.dirname, "../../../..");

const made = new Map<string, Promise<Document[]>>();

/** Names of everything that can be built. */
export const BUILDS: readonly string[] = listBuilds(join(ROOT, "k8s"), tmpdir()).map(({ name }) => name);

async function make(name: string): Promise<Document[]> {
  const work = mkdtempSync(join(tmpdir(), "rcpt-manifests-"));
  try {
    const wanted = listBuilds(join(ROOT, "k8s"), work).find((one) => one.name === name);
    if (wanted === undefined) throw new Error(`nothing is built as ${name}`);
    return await build(wanted, await findBuilder(ROOT));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Output of kustomize, built once for a file of tests; each call gets a copy. */
export async function built(name: string): Promise<Document[]> {
  let making = made.get(name);
  if (making === undefined) {
    making = make(name);
    made.set(name, making);
  }
  return structuredClone(await making);
}

/** A document to be changed, with a spec of the given type. */
export function the<Spec>(documents: Document[], kind: string, name: string): Document<Spec> {
  const found = documents.find((one) => one.kind === kind && one.metadata.name.startsWith(name));
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found as unknown as Document<Spec>;
}

export function podOf(documents: Document[], name: string, kind = "Deployment"): PodSpec {
  return the<{ template: { spec: PodSpec } }>(documents, kind, name).spec.template.spec;
}

export function containerOf(documents: Document[], name: string, kind = "Deployment"): Container {
  const [container] = podOf(documents, name, kind).containers;
  if (container === undefined) throw new Error(`no container in ${name}`);
  return container;
}
