import { LIMITS } from "../../../src/core/limits.ts";
import { createMetrics } from "../../../src/core/metrics.ts";
import {
  type Document,
  type Finding,
  ofKind,
  placeOf,
  type Selector,
  selects,
  type Workload,
  workloadsOf,
} from "../documents.ts";

/** Who says how many pods there are: one for each workload, within bounds that go together. */

interface Target {
  kind?: string;
  name: string;
}

export interface Trigger {
  type: string;
  name?: string;
  metadata: Record<string, string>;
  authenticationRef?: { name: string };
}

export interface ScaledObjectSpec {
  scaleTargetRef: Target;
  minReplicaCount?: number;
  maxReplicaCount?: number;
  triggers: Trigger[];
}

interface HpaSpec {
  scaleTargetRef: Target;
  minReplicas?: number;
  maxReplicas: number;
  metrics?: { pods?: { metric: { name: string } }; external?: { metric: { name: string } } }[];
}

/** An HPA or a ScaledObject. */
interface Autoscaler {
  document: Document;
  target: string;
  min: number;
  max: number;
}

function autoscalersOf(documents: readonly Document[]): Autoscaler[] {
  const hpas = ofKind<HpaSpec>(documents, "HorizontalPodAutoscaler").map((document) => {
    const { scaleTargetRef, minReplicas = 1, maxReplicas } = document.spec;
    return { document, target: scaleTargetRef, min: minReplicas, max: maxReplicas };
  });
  const scaled = ofKind<ScaledObjectSpec>(documents, "ScaledObject").map((document) => {
    const { scaleTargetRef, minReplicaCount = 0, maxReplicaCount = 100 } = document.spec;
    return { document, target: scaleTargetRef, min: minReplicaCount, max: maxReplicaCount };
  });
  return [...hpas, ...scaled].map(({ document, target, min, max }) => ({
    document: document as unknown as Document,
    target: `${target.kind ?? "Deployment"}/${target.name}`,
    min,
    max,
  }));
}

/** Workers that one job can feed: its window is twice what they take at once. */
export const FED_BY_ONE_JOB = LIMITS.bulk.windowMax / (2 * LIMITS.bulk.tasksAtOnce);

function checkAutoscaler(
  { target, min, max }: Autoscaler,
  all: readonly Autoscaler[],
  workloads: readonly Workload[],
) {
  const found: string[] = [];
  const workload = workloads.find(({ name }) => name === target);
  if (workload === undefined) found.push(`scales ${target}, which is not there`);
  else if (workload.replicas !== undefined)
    found.push(`scales ${target}, which says itself how many it has: every apply would set it back`);
  if (all.filter((one) => one.target === target).length > 1) found.push(`is not alone in scaling ${target}`);
  if (min > max) found.push(`has at least ${min} and at most ${max}`);
  if (target.endsWith("-bulk") && max > FED_BY_ONE_JOB)
    found.push(`goes to ${max}, and one job's window feeds ${FED_BY_ONE_JOB}`);
  return found;
}

interface PdbSpec {
  selector?: Selector;
  minAvailable?: number | string;
  maxUnavailable?: number | string;
}

function checkBudget(
  { spec }: Document<PdbSpec>,
  workloads: readonly Workload[],
  all: readonly Autoscaler[],
): string[] {
  const { selector = {}, minAvailable, maxUnavailable } = spec;
  if (maxUnavailable === 0 || maxUnavailable === "0%") return ["lets no pod go: no node can be drained"];
  if (typeof minAvailable === "string" && minAvailable === "100%")
    return ["lets no pod go: no node can be drained"];
  if (typeof minAvailable !== "number") return [];
  return workloads
    .filter(({ labels }) => selects(selector, labels))
    .flatMap(({ name, replicas }) => {
      const least = all.find(({ target }) => target === name)?.min ?? replicas ?? 1;
      return minAvailable >= least ? [`wants ${minAvailable} of ${name}, which may have only ${least}`] : [];
    });
}

/** `http://service.namespace.svc[...]:port/metrics` of what is here. */
function checkMetricsUrl(url: string, documents: readonly Document[]): string[] {
  if (!URL.canParse(url)) return [`asks ${url}, which is no URL`];
  const { hostname, port, pathname } = new URL(url);
  const [name, namespace] = hostname.split(".");
  const service = ofKind<{ ports?: { port: number }[] }>(documents, "Service").find(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  );
  if (service === undefined) return [`asks ${url}, where no Service is`];
  const found = (service.spec.ports ?? []).some((one) => one.port === Number(port || 80));
  if (!found) return [`asks port ${port || 80} of ${name}, which it has not`];
  return pathname === "/metrics" ? [] : [`asks ${pathname}, and metrics are at /metrics`];
}

function checkTriggers({ spec }: Document<ScaledObjectSpec>, documents: readonly Document[]): string[] {
  const auths = ofKind(documents, "TriggerAuthentication").map(({ metadata }) => metadata.name);
  return spec.triggers.flatMap(({ type, metadata, authenticationRef }) => [
    ...(authenticationRef && !auths.includes(authenticationRef.name)
      ? [`names the TriggerAuthentication ${authenticationRef.name}, which is not there`]
      : []),
    ...(type === "metrics-api" ? checkMetricsUrl(metadata.url ?? "", documents) : []),
  ]);
}

/** Series that autoscalers ask for and no process of ours has. */
function unknownSeries(documents: readonly Document[]): Finding[] {
  const known = new Set(
    createMetrics()
      .registry.getMetricsAsArray()
      .map(({ name }) => name),
  );
  const asked = [
    ...ofKind<HpaSpec>(documents, "HorizontalPodAutoscaler").flatMap((one) =>
      (one.spec.metrics ?? []).map(({ pods, external }) => ({ one, name: (pods ?? external)?.metric.name })),
    ),
    ...ofKind<ScaledObjectSpec>(documents, "ScaledObject").flatMap((one) =>
      one.spec.triggers.map(({ metadata }) => ({ one, name: metadata.valueLocation })),
    ),
  ];
  return asked
    .filter(({ name }) => name !== undefined && !known.has(name))
    .map(({ one, name }) => ({
      where: placeOf(one as unknown as Document),
      text: `asks for ${name}, which no process has`,
    }));
}

export function checkScaling(documents: readonly Document[]): Finding[] {
  const workloads = workloadsOf(documents);
  const all = autoscalersOf(documents);
  const budgets = ofKind<PdbSpec>(documents, "PodDisruptionBudget");
  const at = (where: string, texts: string[]) => texts.map((text) => ({ where, text }));
  return [
    ...unknownSeries(documents),
    ...all.flatMap((one) => at(placeOf(one.document), checkAutoscaler(one, all, workloads))),
    ...budgets.flatMap((one) => at(placeOf(one as unknown as Document), checkBudget(one, workloads, all))),
    ...ofKind<ScaledObjectSpec>(documents, "ScaledObject").flatMap((one) =>
      at(placeOf(one as unknown as Document), checkTriggers(one, documents)),
    ),
    ...workloads
      .filter(({ document }) => document.kind === "Deployment")
      .filter(({ labels }) => !budgets.some(({ spec }) => selects(spec.selector ?? {}, labels)))
      .map(({ name }) => ({ where: name, text: "has no PodDisruptionBudget" })),
  ];
}
