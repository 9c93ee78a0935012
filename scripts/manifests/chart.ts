import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Container,
  type Document,
  type Finding,
  type PodSpec,
  placeOf,
  workloadsOf,
} from "./documents.ts";
import { type Helm, renderChart } from "./helm.ts";

/** What the chart makes of values, beside what kustomize makes of the same choice. */

const CHART = "k8s/chart";

export interface ChartBuild {
  name: string;
  /** Values: files of presets/, each over those before it, and what is said beside them. */
  preset?: readonly string[];
  values?: object;
  args?: readonly string[];
  /** Objects that kustomize makes and the chart does not, rightly. */
  lacks?: readonly string[];
  /** Checks that these values cannot pass, and why. */
  unchecked?: Readonly<Record<string, string>>;
}

const settingsOf = (text: string) =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => /^[A-Z]/.test(line))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );

const on = { enabled: true };
/** What has to be said at least. */
const NEEDED = {
  image: { repository: "registry.example.com/rcpt", tag: "0.1.0" },
  settings: { PUBLIC_URL: "https://rcpt.example.com", SMTP_OUT_FROM: "rcpt@example.com" },
  networkPolicy: { stores: [{ cidr: "10.20.0.0/24", ports: [5432, 6379] }] },
};

/** The kustomize builds that the chart has to equal, by their names, and the values that stand for them. */
export function equalBuilds(root: string): ChartBuild[] {
  const prices = settingsOf(readFileSync(join(root, "k8s/components/billing/prices.env"), "utf8"));
  const rest = {
    ...{ monitoring: on, tracing: on, nodeEgress: on, billing: on, priorityClasses: on },
    privateCa: { configMapName: "rcpt-private-ca" },
    settings: prices,
  };
  const without = {
    ...rest,
    ...NEEDED,
    settings: { ...prices, ...NEEDED.settings },
    ...{ ingress: on, externalSecrets: on, podMonitors: on },
    api: { autoscaling: { requestsInFlight: 500 } },
    bulk: { autoscaling: { by: "external" } },
  };
  return [
    { name: "production", preset: ["production"] },
    { name: "production and all else", preset: ["production"], values: rest },
    {
      name: "without KEDA, by an Ingress",
      values: without,
      lacks: ["ExternalSecret/rcpt-redis-scaler"],
    },
    ...clusterBuilds(),
  ];
}

const ROLES = ["api", "bulk", "relay", "migrate"];
/** What components/identity-* say of every account. */
const annotated = (annotations: Readonly<Record<string, string>>) =>
  Object.fromEntries(ROLES.map((role) => [role, { serviceAccount: { annotations } }]));

/** The builds of clusters, with the values that stand for them. */
function clusterBuilds(): ChartBuild[] {
  const role = "arn:aws:iam::111122223333:role/rcpt";
  const account = "rcpt@project.iam.gserviceaccount.com";
  const client = "00000000-0000-0000-0000-000000000000";
  return [
    {
      ...{ name: "production on Envoy Gateway and EKS", preset: ["production"] },
      values: { gateway: { implementation: "envoy" }, ...annotated({ "eks.amazonaws.com/role-arn": role }) },
    },
    {
      ...{ name: "production on Istio and GKE", preset: ["production"] },
      values: {
        gateway: { implementation: "istio" },
        ...annotated({ "iam.gke.io/gcp-service-account": account }),
      },
    },
    {
      ...{ name: "production on Cilium and AKS", preset: ["production"] },
      values: {
        gateway: { implementation: "cilium" },
        pods: { labels: { "azure.workload.identity/use": "true" } },
        ...annotated({ "azure.workload.identity/client-id": client }),
      },
    },
    {
      ...{ name: "production on NGINX, with a quota", preset: ["production", "quota"] },
      values: { gateway: { implementation: "nginx" } },
    },
  ];
}

const egressTo = (cidr: string, port: number) => ({
  to: [{ ipBlock: { cidr } }],
  ports: [{ protocol: "TCP", port }],
});

/** A container beside ours, as a mesh or a database's proxy is. */
const SIDECAR = {
  name: "proxy",
  image: "registry.example.com/proxy:1.0.0",
  resources: {
    requests: { cpu: "10m", memory: "32Mi" },
    limits: { memory: "64Mi", "ephemeral-storage": "64Mi" },
  },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
  volumeMounts: [{ name: "extra", mountPath: "/extra" }],
};

const nodesWith = (key: string, value: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: [value] }] }],
    },
  },
});

/** Of what the migration needs too, among objects of one's own. */
const BEFORE = {
  labels: { "rcpt-phase": "prepare" },
  annotations: {
    "helm.sh/hook": "pre-install,pre-upgrade",
    "helm.sh/hook-weight": "-1",
    "helm.sh/resource-policy": "keep",
  },
};

/** Values of all kinds that no component of kustomize stands for. */
const CUSTOM = {
  image: { digest: `sha256:${"0".repeat(64)}`, pullPolicy: "Always" },
  imagePullSecrets: [{ name: "registry" }],
  settings: { ...NEEDED.settings, RETENTION_DAYS: 7 },
  shaping: { sites: {} },
  privateCa: { configMapName: "company-ca", key: "root.pem" },
  labels: { team: "mail" },
  pods: {
    labels: { "azure.workload.identity/use": "true" },
    annotations: { "sidecar.istio.io/inject": "false" },
    nodeSelector: { pool: "rcpt" },
    tolerations: [{ key: "dedicated", operator: "Exists" }],
    env: [{ name: "DOMAIN_SIGNALS", value: "spf" }],
    volumes: [{ name: "extra", emptyDir: { sizeLimit: "1Mi" } }],
    initContainers: [{ ...SIDECAR, name: "first" }],
    sidecars: [SIDECAR],
    affinity: nodesWith("kubernetes.io/arch", "amd64"),
    topologySpreadConstraints: [
      {
        ...{ maxSkew: 2, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule" },
        labelSelector: { matchLabels: { "app.kubernetes.io/name": "rcpt" } },
      },
    ],
    priorityClassName: "company",
  },
  api: {
    affinity: nodesWith("zone", "a"),
    autoscaling: { enabled: false },
    serviceAccount: { annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/rcpt" } },
  },
  bulk: { env: [{ name: "CHECK_THREADS", value: "4" }], nodeSelector: { egress: "yes" } },
  migrate: { serviceAccount: { create: false, name: "migrator" } },
  networkPolicy: { enabled: false },
  extraObjects: [
    {
      ...{ apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", value: 10 },
      metadata: { name: "company", ...BEFORE },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "migrator", ...BEFORE } },
    {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "company-ca", ...BEFORE } },
      data: { "root.pem": "" },
    },
  ],
};

/** What a cluster asks for that patches say with kustomize. */
const SPECIAL = {
  ...NEEDED,
  extraHosts: ["verify.example.com"],
  gateway: { ...on, annotations: { "external-dns.alpha.kubernetes.io/ttl": "60" } },
  pods: { terminationGracePeriodSeconds: 90 },
  api: {
    service: { annotations: { "service.kubernetes.io/topology-mode": "Auto" } },
    scratch: { sizeLimit: "40Gi" },
    resources: { limits: { "ephemeral-storage": "41Gi" } },
  },
  bulk: {
    autoscaling: { by: "keda", redisDatabase: 3 },
    terminationGracePeriodSeconds: 120,
    extraEgress: [egressTo("10.40.0.0/24", 1080)],
  },
  relay: { extraEgress: [egressTo("10.30.0.25/32", 587)] },
};

/** What kustomize has no twin of. */
export const CHART_BUILDS: readonly ChartBuild[] = [
  { name: "chart, least values", values: NEEDED },
  { name: "chart, quota", preset: ["quota"], values: NEEDED },
  {
    name: "chart, openshift",
    preset: ["openshift"],
    unchecked: { pods: "the namespace chooses the user", reach: "DNS and routers are elsewhere" },
  },
  {
    name: "chart, all values",
    values: CUSTOM,
    unchecked: { network: "there are no policies", reach: "there are no policies" },
  },
  { name: "chart, a special cluster", values: SPECIAL },
  { name: "chart, production", preset: ["production"] },
];

/** @param work a folder of the caller's, for values that are no file */
export function renderBuild(
  root: string,
  helm: Helm,
  { name, preset = [], values, args = [] }: ChartBuild,
  work: string,
): Promise<Document[]> {
  const files = preset.map((file) => join(root, CHART, "presets", `${file}.yaml`));
  if (values !== undefined) {
    const file = join(work, `${name.replaceAll(/\W+/g, "-")}.json`);
    writeFileSync(file, JSON.stringify(values));
    files.push(file);
  }
  return renderChart(root, helm, [...files.flatMap((file) => ["-f", file]), ...args]);
}

/** Names that kustomize gives ConfigMaps by their content, and the chart gives the migration's own copies. */
const HASH = /^(rcpt-(?:settings|shaping))-[a-z0-9]{10}$/;
const COPY = /^rcpt-migrate-(settings|shaping|secrets)$/;
const bare = (name: string) => name.replace(HASH, "$1").replace(COPY, "rcpt-$1");

function renameSources(pod: PodSpec): void {
  const containers: Container[] = pod.containers;
  for (const { configMapRef } of containers.flatMap(({ envFrom = [] }) => envFrom))
    if (configMapRef?.name) configMapRef.name = bare(configMapRef.name);
  for (const { valueFrom } of containers.flatMap(({ env = [] }) => env))
    if (valueFrom?.secretKeyRef?.name) valueFrom.secretKeyRef.name = bare(valueFrom.secretKeyRef.name);
  for (const { configMap } of pod.volumes ?? []) if (configMap?.name) configMap.name = bare(configMap.name);
}

/** What the chart makes for the migration alone, and takes away after it. kustomize's comes first by its label. */
const isCopy = ({ kind, metadata }: Document) =>
  metadata.annotations?.["helm.sh/hook-delete-policy"] !== undefined && kind !== "ServiceAccount";

/**
 * Without what the two forms must do differently: the namespace, names by content, what makes pods roll, and who runs the migration
 * first.
 */
function comparable(documents: readonly Document[]): Map<string, Document> {
  const copies = structuredClone(documents.filter((one) => one.kind !== "Namespace" && !isCopy(one)));
  for (const { metadata } of copies) {
    for (const name of Object.keys(metadata.annotations ?? {}))
      if (name.startsWith("helm.sh/")) delete metadata.annotations?.[name];
    if (Object.keys(metadata.annotations ?? {}).length === 0) delete metadata.annotations;
  }
  for (const { document, pod } of workloadsOf(copies)) {
    renameSources(pod);
    if (document.kind === "Job") {
      document.metadata.name = "rcpt-migrate";
      delete document.metadata.annotations;
      delete document.spec.ttlSecondsAfterFinished;
    }
    const { metadata } = document.spec.template as { metadata: { annotations?: Record<string, string> } };
    delete metadata.annotations?.["checksum/settings"];
    if (Object.keys(metadata.annotations ?? {}).length === 0) delete metadata.annotations;
  }
  for (const one of copies) one.metadata.name = bare(one.metadata.name);
  return new Map(copies.map((one) => [placeOf(one), one]));
}

/** Paths at which two values differ, with both values. */
function unequal(one: unknown, other: unknown, path: string): string[] {
  if (one === other) return [];
  const areObjects = typeof one === "object" && typeof other === "object" && one !== null && other !== null;
  if (!areObjects || Array.isArray(one) !== Array.isArray(other))
    return [`${path} is ${JSON.stringify(other)} of the chart, and ${JSON.stringify(one)} of kustomize`];
  const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) =>
    unequal(a[key], b[key], path === "" ? key : `${path}.${key}`),
  );
}

/** Each object of the one form is one of the other, field by field. */
export function compareForms(
  kustomize: readonly Document[],
  chart: readonly Document[],
  lacks: readonly string[] = [],
): Finding[] {
  const [ours, theirs] = [comparable(kustomize), comparable(chart)];
  for (const where of lacks) ours.delete(where);
  return [...new Set([...ours.keys(), ...theirs.keys()])].flatMap((where) => {
    const [one, other] = [ours.get(where), theirs.get(where)];
    if (one === undefined) return [{ where, text: "only the chart makes it" }];
    if (other === undefined) return [{ where, text: "the chart does not make it" }];
    return unequal(one, other, "").map((text) => ({ where, text }));
  });
}
