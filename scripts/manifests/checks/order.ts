import type { IJobSpec } from "kubernetes-models/batch/v1/JobSpec";
import { EXIT } from "../../../src/platform/exit-codes.ts";
import {
  containersOf,
  type Document,
  ends,
  type Finding,
  ofKind,
  type PodSpec,
  placeOf,
  type Selector,
  selects,
  workloadsOf,
} from "../documents.ts";
import { listGrants } from "./grants.ts";

/** What is applied first: `kubectl apply -l rcpt-phase=prepare`. */
const PHASE = "rcpt-phase";
/** Argo CD's order: the migration and what it needs in wave 0, then what makes pods of ours, then `AWAITED`. */
const WAVE = "argocd.argoproj.io/sync-wave";

/** Of a Job that waits for stores beside it (overlays/local). */
const ATTEMPTS_MAX = 10;

/** Argo CD waits for their status, which may never be set: a later wave would not come. */
const AWAITED = [
  ...["Ingress", "HTTPRoute", "BackendTrafficPolicy"],
  ...["HorizontalPodAutoscaler", "ScaledObject"],
];

/** Helm makes a hook before all other objects. */
const HOOK = "helm.sh/hook";
const WEIGHT = "helm.sh/hook-weight";

const isFirst = ({ metadata }: Document) => metadata.labels?.[PHASE] === "prepare";
const waveOf = ({ metadata }: Document) => Number(metadata.annotations?.[WAVE] ?? 0);

const secretsOf = (name?: string) => [`Secret/${name}`, `ExternalSecret/${name}`];

/** Settings and secrets that a pod reads by variables or volumes. */
function sourcesOf(pod: PodSpec): string[] {
  const volumes = (pod.volumes ?? []).flatMap(({ configMap, secret, projected }) => [
    `ConfigMap/${configMap?.name}`,
    ...secretsOf(secret?.secretName),
    ...(projected?.sources ?? []).flatMap((source) => [
      `ConfigMap/${source.configMap?.name}`,
      ...secretsOf(source.secret?.name),
    ]),
  ]);
  const variables = containersOf(pod).flatMap(({ envFrom = [], env = [] }) => [
    ...envFrom.flatMap(({ configMapRef, secretRef }) => [
      `ConfigMap/${configMapRef?.name}`,
      ...secretsOf(secretRef?.name),
    ]),
    ...env.flatMap(({ valueFrom }) => secretsOf(valueFrom?.secretKeyRef?.name)),
  ]);
  return [...volumes, ...variables];
}

/** Documents that the migration cannot run without. */
function neededBy(documents: readonly Document[]): Document[] {
  const jobs = workloadsOf(documents).filter(ends);
  const names = new Set(
    jobs.flatMap(({ pod }) => [
      `ServiceAccount/${pod.serviceAccountName}`,
      `PriorityClass/${pod.priorityClassName}`,
      ...sourcesOf(pod),
    ]),
  );
  const policies = ofKind<{ podSelector?: Selector; egress?: unknown }>(documents, "NetworkPolicy").filter(
    ({ spec }) =>
      spec.egress !== undefined && jobs.some(({ labels }) => selects(spec.podSelector ?? {}, labels)),
  );
  return [
    ...jobs.map(({ document }) => document),
    ...ofKind(documents, "Namespace"),
    ...documents.filter((one) => names.has(placeOf(one))),
    ...(policies as unknown as Document[]),
  ];
}

/** A failed attempt stays with its log, and wrong settings are not tried again. */
function checkFailing({ backoffLimit = 6, podFailurePolicy, template }: IJobSpec): string[] {
  const found: string[] = [];
  if (template.spec?.restartPolicy !== "Never")
    found.push("restarts containers: only the log of the last attempt is there");
  if (backoffLimit > ATTEMPTS_MAX) found.push(`is tried again ${backoffLimit} times before it fails`);
  const names = template.spec?.containers.map(({ name }) => name) ?? [];
  const endsAtOnce = podFailurePolicy?.rules.some(
    ({ action, onExitCodes }) =>
      action === "FailJob" &&
      onExitCodes?.operator === "In" &&
      onExitCodes.values.includes(EXIT.misconfigured) &&
      names.includes(onExitCodes.containerName ?? names[0] ?? ""),
  );
  if (!endsAtOnce) found.push(`is tried again after ${EXIT.misconfigured}, which ends each attempt alike`);
  return found;
}

const hookOf = ({ metadata }: Document) => metadata.annotations?.[HOOK];
const weightOf = ({ metadata }: Document) => Number(metadata.annotations?.[WEIGHT] ?? 0);

/** While a Helm hook runs, objects that are not hooks are those of the release before, or do not exist yet. */
function checkHooks(documents: readonly Document[], needed: readonly Document[]): Finding[] {
  const [job] = needed.filter(({ kind }) => kind === "Job");
  if (job === undefined || hookOf(job) === undefined) return [];
  const late = needed
    .filter((one) => !["Job", "NetworkPolicy"].includes(one.kind))
    .filter((one) => hookOf(one) !== hookOf(job) || weightOf(one) >= weightOf(job))
    .map((one) => ({ where: placeOf(one), text: "is needed by the migration, and no hook before it" }));
  const waysOf = (all: readonly Document[]) =>
    listGrants(all).filter(({ workload, text }) => workload === placeOf(job) && text.startsWith("egress"));
  const isThere = (one: Document) => one.kind !== "NetworkPolicy" || hookOf(one) === hookOf(job);
  const early = waysOf(documents.filter(isThere)).map(({ text }) => text);
  const closed = waysOf(documents)
    .filter(({ text }) => !early.includes(text))
    .map(({ policy, text }) => ({
      ...{ where: `NetworkPolicy/${policy}`, text: `is no hook, and the migration has ${text} by it alone` },
    }));
  return [...late, ...closed];
}

/** That a migration runs before the pods of its version, and with all that it needs. */
export function checkOrder(documents: readonly Document[]): Finding[] {
  const needed = neededBy(documents);
  const later = ofKind(documents, "Deployment", "HorizontalPodAutoscaler", "ScaledObject");
  const ofPods = Math.max(...ofKind(documents, "Deployment").map(waveOf));
  const last = Math.max(...documents.map(waveOf));
  const at = (text: string) => (one: Document) => ({ where: placeOf(one), text });
  return [
    ...needed
      .filter((one) => !isFirst(one))
      .map(at(`is needed by the migration, and not of ${PHASE}=prepare`)),
    ...needed.filter((one) => waveOf(one) > 0).map(at("is needed by the migration, and in a later wave")),
    ...later.filter(isFirst).map(at("would be there before the migration")),
    ...ofKind<{ ttlSecondsAfterFinished?: number }>(documents, "Job")
      // Helm runs a hook at an upgrade, and does not miss it afterwards.
      .filter(({ metadata }) => metadata.annotations?.[HOOK] === undefined)
      .filter(({ spec }) => spec.ttlSecondsAfterFinished !== undefined)
      .map((one) => at("goes by itself, and is made anew by who reconciles")(one as unknown as Document)),
    ...ofKind<IJobSpec>(documents, "Job").flatMap((one) =>
      checkFailing(one.spec).map((text) => at(text)(one as unknown as Document)),
    ),
    ...later
      .filter((one) => waveOf(one) < 1)
      .map(at("is in the wave of the migration, and would not wait for it")),
    ...ofKind(documents, ...AWAITED)
      .filter((one) => waveOf(one) <= ofPods || waveOf(one) < last)
      .map(at("is in a wave with pods or before the last one, which would wait for its status")),
    ...checkHooks(documents, needed),
  ];
}
