import { getDotPath, safeParse } from "valibot";
import { type Document, type Finding, placeOf } from "./documents.ts";
import { foreignSchemaOf } from "./foreign.ts";

/** Packages with the schemas of Kubernetes and of what is added to it, by API group. "" is the core. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ...["", "apps", "autoscaling", "batch", "policy"].map((group) => [group, "kubernetes-models"] as const),
  ...["networking.k8s.io", "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io"].map(
    (group) => [group, "kubernetes-models"] as const,
  ),
  ["keda.sh", "@kubernetes-models/keda"],
  ["monitoring.coreos.com", "@kubernetes-models/prometheus-operator"],
  ["external-secrets.io", "@kubernetes-models/external-secrets"],
  ["gateway.networking.k8s.io", "@kubernetes-models/gateway-api"],
  ["networking.istio.io", "@kubernetes-models/istio"],
]);

/** The module that has a kind's schema and type; null: no package is known for its group. */
export function moduleOf({ apiVersion, kind }: Document): string | null {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/", 2) : ["", apiVersion];
  const name = PACKAGES.get(group ?? "");
  return name === undefined ? null : [name, group, version, kind].filter((part) => part !== "").join("/");
}

interface Model {
  validate(): void;
}
type ModelClass = new (data: Document) => Model;

/** The class of a kind; null: none. */
async function loadModel(document: Document): Promise<ModelClass | null> {
  const module = moduleOf(document);
  if (module === null) return null;
  try {
    const loaded = (await import(module)) as Record<string, ModelClass>;
    return loaded[document.kind] ?? null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" || code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return null;
    throw error;
  }
}

/** First pass: types, required fields and enumerations, by the schemas. A kind without one is a finding, not passed over. */
export async function checkSchemas(documents: readonly Document[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const document of documents) {
    const where = placeOf(document);
    const foreign = foreignSchemaOf(document);
    if (foreign !== null) {
      const { issues = [] } = safeParse(foreign, document);
      found.push(...issues.map((issue) => ({ where, text: `${getDotPath(issue)}: ${issue.message}` })));
      continue;
    }
    const Model = await loadModel(document);
    if (Model === null) {
      found.push({ where, text: `no schema of ${document.apiVersion} ${document.kind} is known` });
      continue;
    }
    try {
      new Model(document).validate();
    } catch (error) {
      found.push({ where, text: (error as Error).message });
    }
  }
  return found;
}
