import type { IJobSpec } from "kubernetes-models/batch/v1/JobSpec";
import { EXIT } from "../../../src/platform/exit-codes.ts";
import {
  containersOf,
  type Document,
  ends,
  type Finding,
  ofKind,
  placeOf,
  type Selector,
  selects,
  workloadsOf,
} from "../documents.ts";

/** What is applied first: `kubectl apply -l rcpt-phase=prepare`. */
const PHASE = "rcpt-phase";
/** Argo CD's order: the migration and what it needs in wave 0, what makes pods of ours behind it. */
const WAVE = "argocd.argoproj.io/sync-wave";

/** Of a Job that waits for stores beside it (overlays/local). */
const ATTEMPTS_MAX = 10;

const isFirst = ({ metadata }: Document) => metadata.labels?.[PHASE] === "prepare";
const waveOf = ({ metadata }: Document) => Number(metadata.annotations?.[WAVE] ?? 0);

/** Documents that the migration cannot run without. */
function neededBy(documents: readonly Document[]): Document[] {
  const jobs = workloadsOf(documents).filter(ends);
  const names = new Set(
    jobs.flatMap(({ pod }) => [
      `ServiceAccount/${pod.serviceAccountName}`,
      ...(pod.volumes ?? []).map(({ configMap }) => `ConfigMap/${configMap?.name}`),
      ...containersOf(pod).flatMap(({ envFrom = [], env = [] }) => [
        ...envFrom.map(({ configMapRef }) => `ConfigMap/${configMapRef?.name}`),
        ...env.map(({ valueFrom }) => `Secret/${valueFrom?.secretKeyRef?.name}`),
        ...env.map(({ valueFrom }) => `ExternalSecret/${valueFrom?.secretKeyRef?.name}`),
      ]),
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

/** That a migration runs before the pods of its version, and with all that it needs. */
export function checkOrder(documents: readonly Document[]): Finding[] {
  const needed = neededBy(documents);
  const later = ofKind(documents, "Deployment", "HorizontalPodAutoscaler", "ScaledObject");
  const at = (text: string) => (one: Document) => ({ where: placeOf(one), text });
  return [
    ...needed
      .filter((one) => !isFirst(one))
      .map(at(`is needed by the migration, and not of ${PHASE}=prepare`)),
    ...needed.filter((one) => waveOf(one) > 0).map(at("is needed by the migration, and in a later wave")),
    ...later.filter(isFirst).map(at("would be there before the migration")),
    ...ofKind<{ ttlSecondsAfterFinished?: number }>(documents, "Job")
      // Helm runs a hook at an upgrade, and does not miss it afterwards.
      .filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === undefined)
      .filter(({ spec }) => spec.ttlSecondsAfterFinished !== undefined)
      .map((one) => at("goes by itself, and is made anew by who reconciles")(one as unknown as Document)),
    ...ofKind<IJobSpec>(documents, "Job").flatMap((one) =>
      checkFailing(one.spec).map((text) => at(text)(one as unknown as Document)),
    ),
    ...later
      .filter((one) => waveOf(one) < 1)
      .map(at("is in the wave of the migration, and would not wait for it")),
  ];
}
