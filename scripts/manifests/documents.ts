import type { INetworkPolicySpec } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicySpec";
import type { IContainer } from "kubernetes-models/v1/Container";
import type { IPodSpec } from "kubernetes-models/v1/PodSpec";
import type { IProbe } from "kubernetes-models/v1/Probe";
import { parseAllDocuments } from "yaml";

export type Labels = Record<string, string>;

export type Selector = NonNullable<INetworkPolicySpec["podSelector"]>;
export type Container = IContainer;
export type Probe = IProbe;
export type PodSpec = IPodSpec;
export type KeyRef = { name?: string; key: string; optional?: boolean };

export interface Document<Spec = Record<string, unknown>> {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Labels; annotations?: Labels };
  spec: Spec;
  data?: Record<string, string>;
}

/** Something that makes pods. */
export interface Workload {
  document: Document;
  name: string;
  labels: Labels;
  pod: PodSpec;
  /** undefined: not said. */
  replicas: number | undefined;
  claims: string[];
}

/** Something that is wrong with a document. */
export interface Finding {
  /** `Kind/name`, or what else it is about. */
  where: string;
  text: string;
}

/** All kinds of Kubernetes itself that make pods, or are one. */
const WORKLOADS = [
  ...["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"],
  ...["Job", "CronJob", "Pod"],
];
/** Those that come to an end. */
const ENDING = ["Job", "CronJob"];

export function placeOf({ kind, metadata }: Document): string {
  return `${kind}/${metadata.name}`;
}

/** @throws Error for text that is no YAML, or holds what is no object of Kubernetes */
export function parseDocuments(text: string): Document[] {
  return parseAllDocuments(text).flatMap((parsed) => {
    if (parsed.errors.length > 0) throw new Error(parsed.errors[0]?.message);
    const value = parsed.toJS() as Document | null;
    if (value === null) return [];
    if (typeof value.kind !== "string" || typeof value.metadata?.name !== "string")
      throw new Error("a document has no kind or name");
    return [value];
  });
}

export function ofKind<Spec = Record<string, unknown>>(
  documents: readonly Document[],
  ...kinds: string[]
): Document<Spec>[] {
  return documents.filter(({ kind }) => kinds.includes(kind)) as unknown as Document<Spec>[];
}

interface Template {
  metadata?: { labels?: Labels };
  spec: PodSpec;
}
interface WorkloadSpec {
  replicas?: number;
  template: Template;
  volumeClaimTemplates?: { metadata: { name: string } }[];
}

/** Where each kind says what its pods are. */
function templateOf({ kind, metadata, spec }: Document): Template {
  if (kind === "Pod") return { metadata, spec: spec as unknown as PodSpec };
  if (kind === "CronJob") return (spec.jobTemplate as { spec: WorkloadSpec }).spec.template;
  return (spec as unknown as WorkloadSpec).template;
}

export function workloadsOf(documents: readonly Document[]): Workload[] {
  return ofKind(documents, ...WORKLOADS).map((document) => {
    const { replicas, volumeClaimTemplates = [] } = document.spec as unknown as WorkloadSpec;
    const { metadata, spec } = templateOf(document);
    return {
      document,
      name: placeOf(document),
      labels: metadata?.labels ?? {},
      pod: spec,
      replicas,
      claims: volumeClaimTemplates.map((claim) => claim.metadata.name),
    };
  });
}

/** Whether it is there to end, and not to serve. */
export function ends({ document }: Workload): boolean {
  return ENDING.includes(document.kind);
}

export function containersOf({ initContainers = [], containers }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

/** Whether a selector picks what has these labels. One that says nothing picks everything, as Kubernetes has it. */
export function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  const equal = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "In") return value !== undefined && values.includes(value);
      if (operator === "NotIn") return value === undefined || !values.includes(value);
      return operator === "Exists" ? value !== undefined : value === undefined;
    })
  );
}

/** The number of a named or numbered port of a workload; null: it has none. */
export function portOf({ pod }: Workload, port: string | number): number | null {
  const ports = containersOf(pod).flatMap(({ ports: declared = [] }) => declared);
  const found = ports.find(({ name, containerPort }) =>
    typeof port === "number" ? containerPort === port : name === port,
  );
  return found?.containerPort ?? null;
}

const SUFFIXES: Record<string, number> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** A quantity (`1500m`, `2Gi`) as a number; NaN for what is none. */
export function quantity(text: string | number): number {
  const match = /^(\d+(?:\.\d+)?)([a-zA-Z]*)$/.exec(String(text));
  return match === null ? Number.NaN : Number(match[1]) * (SUFFIXES[match[2] ?? ""] ?? Number.NaN);
}
