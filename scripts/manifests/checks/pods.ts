import {
  type Container,
  containersOf,
  type Document,
  type Finding,
  type PodSpec,
  quantity,
  type Workload,
  workloadsOf,
} from "../documents.ts";

/** Pods that may do nothing but their work, on images that are known, within bounds that are said. */

function checkImage({ name, image = "" }: Container): string[] {
  if (/@sha256:[0-9a-f]{64}$/.test(image)) return [];
  const tag = /:([\w][\w.-]*)$/.exec(image)?.[1];
  if (tag === undefined) return [`${name}: image ${image} has neither tag nor digest`];
  return tag === "latest" ? [`${name}: image ${image} is another one tomorrow`] : [];
}

function checkSecurity({ name, securityContext: own = {} }: Container): string[] {
  const found: string[] = [];
  if (own.allowPrivilegeEscalation !== false) found.push("allowPrivilegeEscalation is not false");
  if (own.readOnlyRootFilesystem !== true) found.push("readOnlyRootFilesystem is not true");
  if (own.privileged === true) found.push("is privileged");
  if (!own.capabilities?.drop?.includes("ALL")) found.push("does not drop ALL capabilities");
  if ((own.capabilities?.add ?? []).length > 0) found.push("adds capabilities");
  return found.map((text) => `${name}: ${text}`);
}

/** `--max-old-space-size` in bytes; null: not said. */
function heapOf({ env = [] }: Container): number | null {
  const options = env.find(({ name }) => name === "NODE_OPTIONS")?.value ?? "";
  const match = /--max-old-space-size=(\d+)/.exec(options);
  return match === null ? null : Number(match[1]) * 2 ** 20;
}

function checkResources(container: Container): string[] {
  const { name, resources: { requests = {}, limits = {} } = {} } = container;
  const found: string[] = [];
  for (const resource of ["cpu", "memory"])
    if (!(quantity(requests[resource] ?? "") > 0)) found.push(`requests no ${resource}`);
  for (const resource of ["memory", "ephemeral-storage"])
    if (!(quantity(limits[resource] ?? "") > 0)) found.push(`has no limit of ${resource}`);
  for (const [resource, limit] of Object.entries(limits))
    if (quantity(requests[resource] ?? "0") > quantity(limit))
      found.push(`requests more ${resource} than its limit`);
  const heap = heapOf(container);
  // Threads' stacks, buffers and machine code are outside the heap: half as much again at least.
  if (heap !== null && heap * 1.5 > quantity(limits.memory ?? "0"))
    found.push("its heap may fill two thirds of its memory and more");
  return found.map((text) => `${name}: ${text}`);
}

function checkVolumes({ volumes = [], containers }: PodSpec): string[] {
  const found: string[] = [];
  let scratch = 0;
  for (const { name, emptyDir, hostPath } of volumes) {
    if (hostPath !== undefined) found.push(`volume ${name} is of the host`);
    if (emptyDir === undefined) continue;
    if (emptyDir.sizeLimit === undefined) found.push(`volume ${name} has no sizeLimit`);
    else scratch += quantity(emptyDir.sizeLimit);
  }
  const limit = containers.reduce(
    (sum, { resources }) => sum + quantity(resources?.limits?.["ephemeral-storage"] ?? "0"),
    0,
  );
  if (scratch > limit)
    found.push("its volumes may hold more than its limit of ephemeral-storage: it would be evicted first");
  return found;
}

function checkPod({ pod }: Workload): string[] {
  const { securityContext: context = {} } = pod;
  const found: string[] = [];
  if (context.runAsNonRoot !== true || !((context.runAsUser ?? 0) > 0)) found.push("may run as root");
  if (context.seccompProfile?.type !== "RuntimeDefault") found.push("has not the runtime's seccomp profile");
  if (pod.automountServiceAccountToken !== false) found.push("is given a token of the cluster's API");
  if (pod.hostNetwork === true || pod.hostPID === true) found.push("shares the host's namespaces");
  return [...found, ...checkVolumes(pod)];
}

export function checkPods(documents: readonly Document[]): Finding[] {
  return workloadsOf(documents).flatMap((workload) =>
    [
      ...checkPod(workload),
      ...containersOf(workload.pod).flatMap((container) => [
        ...checkImage(container),
        ...checkSecurity(container),
        ...checkResources(container),
      ]),
    ].map((text) => ({ where: workload.name, text })),
  );
}
