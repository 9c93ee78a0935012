import type { IServiceSpec } from "kubernetes-models/v1/ServiceSpec";
import {
  containersOf,
  type Document,
  ends,
  type Finding,
  ofKind,
  placeOf,
  portOf,
  type Selector,
  selects,
  type Workload,
  workloadsOf,
} from "../documents.ts";
import type { PolicySpec, Rule } from "./grants.ts";
import { checkSources } from "./sources.ts";

/** Whatever names something else: that what it names is there. Nothing else does this; a cluster finds out by not working. */

type Service = Document<IServiceSpec>;

interface Backend {
  name: string;
  port: { name?: string; number?: number };
}

function checkService(service: Service, workloads: readonly Workload[]): string[] {
  const chosen = workloads.filter(({ labels }) =>
    selects({ matchLabels: service.spec.selector ?? {} }, labels),
  );
  if (chosen.length === 0) return ["selects no pod"];
  return chosen.flatMap((workload) =>
    (service.spec.ports ?? []).flatMap(({ port, targetPort = port }) =>
      portOf(workload, targetPort) === null
        ? [`sends port ${port} to ${targetPort}, which ${workload.name} has not`]
        : [],
    ),
  );
}

/** A selector in a document that must pick pods. */
function mustSelect(selector: Selector | undefined, workloads: readonly Workload[], what: string): string[] {
  const some = workloads.some(({ labels }) => selects(selector ?? {}, labels));
  return some ? [] : [`${what} selects no pod`];
}

function checkWorkload(
  workload: Workload,
  documents: readonly Document[],
  services: readonly Service[],
): string[] {
  const { pod, labels, claims, document } = workload;
  const { selector, serviceName } = document.spec as { selector?: Selector; serviceName?: string };
  const has = (kind: string, name: string) =>
    ofKind(documents, kind).some(({ metadata }) => metadata.name === name);
  const volumes = [...(pod.volumes ?? []).map(({ name }) => name), ...claims];
  const mounts = containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
  const found: string[] = [];
  if (selector !== undefined && !selects(selector, labels)) found.push("does not select its own pods");
  if (serviceName !== undefined && !services.some(({ metadata }) => metadata.name === serviceName))
    found.push(`names the Service ${serviceName}, which is not there`);
  if (pod.serviceAccountName !== undefined && !has("ServiceAccount", pod.serviceAccountName))
    found.push(`names the ServiceAccount ${pod.serviceAccountName}, which is not there`);
  if (pod.priorityClassName !== undefined && !has("PriorityClass", pod.priorityClassName))
    found.push(`names the PriorityClass ${pod.priorityClassName}, which is not there`);
  for (const { labelSelector = {} } of pod.topologySpreadConstraints ?? [])
    if (!selects(labelSelector, labels)) found.push("spreads other pods than its own");
  for (const name of mounts)
    if (!volumes.includes(name)) found.push(`mounts the volume ${name}, which is not there`);
  for (const name of volumes)
    if (!mounts.includes(name)) found.push(`has the volume ${name}, which nothing mounts`);
  for (const container of containersOf(pod)) {
    const { startupProbe, readinessProbe, livenessProbe } = container;
    for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
      const port = probe?.httpGet?.port ?? probe?.tcpSocket?.port;
      if (port !== undefined && portOf({ ...workload, pod: { containers: [container] } }, port) === null)
        found.push(`probes port ${port} of ${container.name}, which it has not`);
    }
  }
  return found;
}

/** Where Ingresses and routes send requests. */
function backendsOf(documents: readonly Document[]): [Document, Backend][] {
  type Rules = { rules?: { http?: { paths: { backend: { service?: Backend } }[] } }[] };
  const ingresses = ofKind<Rules>(documents, "Ingress").flatMap((document) =>
    (document.spec.rules ?? []).flatMap(({ http }) =>
      (http?.paths ?? []).flatMap(({ backend: { service } }) =>
        service ? [[document, service] as const] : [],
      ),
    ),
  );
  type Routes = { rules?: { backendRefs?: { name: string; port?: number }[] }[] };
  const routes = ofKind<Routes>(documents, "HTTPRoute").flatMap((document) =>
    (document.spec.rules ?? []).flatMap(({ backendRefs = [] }) =>
      backendRefs.map(
        ({ name, port }) => [document, { name, port: port === undefined ? {} : { number: port } }] as const,
      ),
    ),
  );
  return [...ingresses, ...routes].map(([document, backend]) => [document as unknown as Document, backend]);
}

function checkBackend({ name, port }: Backend, services: readonly Service[]): string[] {
  const service = services.find(({ metadata }) => metadata.name === name);
  if (service === undefined) return [`sends to the Service ${name}, which is not there`];
  const there = (service.spec.ports ?? []).some((one) => one.name === port.name || one.port === port.number);
  return there ? [] : [`sends to port ${port.name ?? port.number} of ${name}, which it has not`];
}

function checkMonitor(document: Document, workloads: readonly Workload[]): string[] {
  const { selector, podMetricsEndpoints = [] } = document.spec as {
    selector?: Selector;
    podMetricsEndpoints?: { port: string }[];
  };
  const chosen = workloads.filter(({ labels }) => selects(selector ?? {}, labels));
  if (chosen.length === 0) return ["selects no pod"];
  return chosen.flatMap((workload) =>
    podMetricsEndpoints.flatMap(({ port }) =>
      portOf(workload, port) === null ? [`scrapes port ${port}, which ${workload.name} has not`] : [],
    ),
  );
}

/** Where there are monitors at all, each role has one: nobody misses a series that never was. */
function unwatched(documents: readonly Document[], workloads: readonly Workload[]): Finding[] {
  const monitors = ofKind<{ selector?: Selector }>(documents, "PodMonitor");
  if (monitors.length === 0) return [];
  return workloads
    .filter((one) => one.labels["app.kubernetes.io/name"] === "rcpt" && !ends(one))
    .filter(({ labels }) => !monitors.some(({ spec }) => selects(spec.selector ?? {}, labels)))
    .map(({ name }) => ({ where: name, text: "has metrics, and no PodMonitor" }));
}

function checkPolicy(document: Document, workloads: readonly Workload[]): string[] {
  const { podSelector = {}, ingress = [], egress = [] } = document.spec as PolicySpec;
  const chosen = workloads.filter(({ labels }) => selects(podSelector, labels));
  const found = mustSelect(podSelector, workloads, "podSelector");
  const rules: Rule[] = [...ingress, ...egress];
  for (const { from = [], to = [], ports = [] } of rules) {
    const peers = [...from, ...to].filter((peer) => peer.podSelector && !peer.namespaceSelector);
    for (const peer of peers) found.push(...mustSelect(peer.podSelector, workloads, "a peer"));
    const receivers =
      to.length === 0
        ? chosen
        : workloads.filter(({ labels }) => peers.some((p) => selects(p.podSelector ?? {}, labels)));
    for (const { port } of ports)
      if (typeof port === "string" && !receivers.some((workload) => portOf(workload, port) !== null))
        found.push(`names port ${port}, which no receiver has`);
  }
  return found;
}

/** What policies of gateways are for: a route or a Service of the same namespace. */
function checkTargets({ spec = {} }: Document, documents: readonly Document[]): string[] {
  type Target = { kind: string; name: string };
  const { targetRef, targetRefs = [] } = spec as { targetRef?: Target; targetRefs?: Target[] };
  return [...(targetRef ? [targetRef] : []), ...targetRefs]
    .filter(({ kind, name }) => !documents.some((one) => one.kind === kind && one.metadata.name === name))
    .map(({ kind, name }) => `is for ${kind} ${name}, which is not there`);
}

export function checkReferences(documents: readonly Document[]): Finding[] {
  const workloads = workloadsOf(documents);
  const services = ofKind<IServiceSpec>(documents, "Service");
  const at = (document: Document) => (text: string) => ({ where: placeOf(document), text });
  const of = (kind: string, check: (document: Document) => string[]) =>
    ofKind(documents, kind).flatMap((document) => check(document).map(at(document)));
  return [
    ...of("Service", (document) => checkService(document as unknown as Service, workloads)),
    ...workloads.flatMap((one) => checkWorkload(one, documents, services).map(at(one.document))),
    ...of("PodDisruptionBudget", ({ spec }) => mustSelect(spec.selector as Selector, workloads, "selector")),
    ...of("PodMonitor", (document) => checkMonitor(document, workloads)),
    ...unwatched(documents, workloads),
    ...of("NetworkPolicy", (document) => checkPolicy(document, workloads)),
    ...backendsOf(documents).flatMap(([document, backend]) =>
      checkBackend(backend, services).map(at(document)),
    ),
    ...documents.flatMap((one) => checkTargets(one, documents).map(at(one))),
    ...checkSources(documents, workloads),
  ];
}
