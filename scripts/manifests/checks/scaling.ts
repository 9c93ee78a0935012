import type { IPodDisruptionBudgetSpec } from "kubernetes-models/policy/v1/PodDisruptionBudgetSpec";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import {
  type Document,
  type Finding,
  ofKind,
  placeOf,
  selects,
  type Workload,
  workloadsOf,
} from "../documents.ts";
import { checkFigures, type HpaSpec, type ScaledObjectSpec } from "./figures.ts";

/** Who says how many pods there are: one for each workload, within bounds that go together. */

/** An HPA or a ScaledObject. */
interface Autoscaler {
  /** Whose CPU is counted. */
  containers: string[];
  document: Document;
  target: string;
  min: number;
  max: number;
}

function autoscalersOf(documents: readonly Document[]): Autoscaler[] {
  const hpas = ofKind<HpaSpec>(documents, "HorizontalPodAutoscaler").map((document) => {
    const { scaleTargetRef, minReplicas = 1, maxReplicas, metrics = [] } = document.spec;
    const containers = metrics.flatMap(({ containerResource }) => containerResource?.container ?? []);
    return { document, target: scaleTargetRef, min: minReplicas, max: maxReplicas, containers };
  });
  const scaled = ofKind<ScaledObjectSpec>(documents, "ScaledObject").map((document) => {
    const { scaleTargetRef, minReplicaCount = 0, maxReplicaCount = 100 } = document.spec;
    return { document, target: scaleTargetRef, min: minReplicaCount, max: maxReplicaCount, containers: [] };
  });
  return [...hpas, ...scaled].map(({ document, target, min, max, containers }) => ({
    document: document as unknown as Document,
    target: `${target.kind ?? "Deployment"}/${target.name}`,
    min,
    max,
    containers,
  }));
}

/** Workers that one job can feed: its window is twice what they take at once. */
export const FED_BY_ONE_JOB = LIMITS.bulk.windowMax / (2 * LIMITS.bulk.tasksAtOnce);

function checkAutoscaler(
  { target, min, max, containers }: Autoscaler,
  all: readonly Autoscaler[],
  workloads: readonly Workload[],
) {
  const found: string[] = [];
  const workload = workloads.find(({ name }) => name === target);
  if (workload === undefined) found.push(`scales ${target}, which is not there`);
  else if (workload.replicas !== undefined)
    found.push(`scales ${target}, which says itself how many it has: every apply would set it back`);
  for (const name of containers)
    if (workload && !workload.pod.containers.some((one) => one.name === name))
      found.push(`counts the CPU of the container ${name}, which ${target} has not`);
  if (all.filter((one) => one.target === target).length > 1) found.push(`is not alone in scaling ${target}`);
  if (min > max) found.push(`has at least ${min} and at most ${max}`);
  if (target.endsWith("-bulk") && max > FED_BY_ONE_JOB)
    found.push(`goes to ${max}, and one job's window feeds ${FED_BY_ONE_JOB}`);
  return found;
}

function checkBudget(
  { spec }: Document<IPodDisruptionBudgetSpec>,
  workloads: readonly Workload[],
  all: readonly Autoscaler[],
): string[] {
  const { selector = {}, minAvailable, maxUnavailable } = spec;
  if ((minAvailable === undefined) === (maxUnavailable === undefined))
    return ["says not one of minAvailable and maxUnavailable, but none or both: it is refused"];
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

/** A pod of less is worth no node to the cluster autoscaler (--expendable-pods-priority-cutoff). */
const EXPENDABLE_BELOW = -10;

function checkPriorities(documents: readonly Document[], workloads: readonly Workload[]): Finding[] {
  return ofKind(documents, "PriorityClass")
    .filter(({ metadata }) => workloads.some(({ pod }) => pod.priorityClassName === metadata.name))
    .map((one) => ({ one, value: (one as { value?: number }).value ?? 0 }))
    .filter(({ value }) => value < EXPENDABLE_BELOW)
    .map(({ one, value }) => ({
      ...{
        where: placeOf(one),
        text: `is ${value}: below ${EXPENDABLE_BELOW} no node is added for its pods`,
      },
    }));
}

export function checkScaling(documents: readonly Document[]): Finding[] {
  const workloads = workloadsOf(documents);
  const all = autoscalersOf(documents);
  const budgets = ofKind<IPodDisruptionBudgetSpec>(documents, "PodDisruptionBudget");
  const at = (where: string, texts: string[]) => texts.map((text) => ({ where, text }));
  return [
    ...all.flatMap((one) => at(placeOf(one.document), checkAutoscaler(one, all, workloads))),
    ...budgets.flatMap((one) => at(placeOf(one as unknown as Document), checkBudget(one, workloads, all))),
    ...checkFigures(documents),
    ...workloads
      .filter(({ document }) => document.kind === "Deployment")
      .filter(({ labels }) => !budgets.some(({ spec }) => selects(spec.selector ?? {}, labels)))
      .map(({ name }) => ({ where: name, text: "has no PodDisruptionBudget" })),
    ...workloads
      .filter(({ document, replicas }) => document.kind === "Deployment" && replicas === undefined)
      .filter(({ name }) => !all.some(({ target }) => target === name))
      .map(({ name }) => ({ where: name, text: "says not how many there are, and no autoscaler does" })),
    ...checkPriorities(documents, workloads),
  ];
}
