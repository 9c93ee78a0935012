import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Document, type Finding, placeOf } from "./documents.ts";
import { downloadModule, findGo } from "./go.ts";

/**
 * CRDs that are in no package of npm, but in a Go module: where Go is installed, our objects are held to them, and so is what
 * foreign.ts says of their kinds. NGINX Gateway Fabric's module cannot be had by Go's proxy.
 */
const SOURCES: readonly { type: string; module: string; file: string }[] = [
  {
    type: "gateway.envoyproxy.io/v1alpha1 BackendTrafficPolicy",
    module: "github.com/envoyproxy/gateway@v1.9.1",
    file: "charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_backendtrafficpolicies.yaml",
  },
  {
    type: "cilium.io/v2 CiliumNetworkPolicy",
    module: "github.com/cilium/cilium@v1.20.2",
    file: "pkg/k8s/apis/cilium.io/client/crds/v2/ciliumnetworkpolicies.yaml",
  },
];

/** What is read of an `openAPIV3Schema`. */
export interface CrdSchema {
  type?: string;
  properties?: Record<string, CrdSchema>;
  additionalProperties?: CrdSchema | boolean;
  items?: CrdSchema;
  required?: string[];
  enum?: unknown[];
  pattern?: string;
}

interface Crd {
  spec: { versions: { name: string; schema: { openAPIV3Schema: CrdSchema } }[] };
}

function readCrd(text: string, version: string): CrdSchema {
  const crds = parseAllDocuments(text).map((one) => one.toJS() as Crd | null);
  const found = crds.flatMap((one) => one?.spec.versions ?? []).find(({ name }) => name === version);
  if (found === undefined) throw new Error(`the CRD has no version ${version}`);
  return found.schema.openAPIV3Schema;
}

/**
 * Schemas by `apiVersion kind`.
 * @returns why there are none: without Go, or without its modules
 * @throws Error when a module has no such file or version
 */
export async function loadCrds(root: string): Promise<ReadonlyMap<string, CrdSchema> | string> {
  const env = await findGo(root);
  if (env === null) return "Go is not installed";
  const schemas = new Map<string, CrdSchema>();
  for (const { type, module, file } of SOURCES) {
    const folder = await downloadModule(module, root, env);
    if (folder === null) return `Go cannot download ${module}`;
    const version = type.split(" ")[0]?.split("/")[1] ?? "";
    schemas.set(type, readCrd(readFileSync(join(folder, file), "utf8"), version));
  }
  return schemas;
}

const typeOf = (value: unknown) => (Array.isArray(value) ? "array" : typeof value);

function problemsOf(value: unknown, schema: CrdSchema, path: string): string[] {
  const { type, properties, additionalProperties, items, required = [], pattern } = schema;
  const kind = type === "integer" ? "number" : type;
  if (kind !== undefined && typeOf(value) !== kind) return [`${path} is no ${type}`];
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return [`${path} is none of ${schema.enum.join(", ")}`];
  if (pattern !== undefined && !new RegExp(pattern).test(String(value)))
    return [`${path} is not as ${pattern}`];
  if (Array.isArray(value))
    return value.flatMap((one, at) => (items ? problemsOf(one, items, `${path}[${at}]`) : []));
  if (typeof value !== "object" || value === null) return [];
  const missing = required.filter((name) => !(name in value)).map((name) => `${path} has no ${name}`);
  const inside = Object.entries(value).flatMap(([name, one]) => {
    const own = properties?.[name] ?? additionalProperties;
    if (typeof own === "object") return problemsOf(one, own, `${path}.${name}`);
    // An object without properties, as metadata is, takes any.
    return properties === undefined || own === true ? [] : [`${path}.${name} is no field`];
  });
  return [...missing, ...inside];
}

/** Documents of kinds that are among the schemas: fields that there are not, types, patterns, what is missing. */
export function checkCrds(
  documents: readonly Document[],
  schemas: ReadonlyMap<string, CrdSchema>,
): Finding[] {
  return documents.flatMap((document) => {
    const schema = schemas.get(`${document.apiVersion} ${document.kind}`);
    if (schema === undefined) return [];
    return problemsOf(document, schema, document.kind).map((text) => ({ where: placeOf(document), text }));
  });
}
