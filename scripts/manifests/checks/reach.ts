import { type Document, ends, type Finding, ofKind, type Workload, workloadsOf } from "../documents.ts";
import { ownContainers } from "../environment.ts";
import { listGrants } from "./grants.ts";

/**
 * The table of who reaches whom. What is in it and not let through is a part that does not work; what is let through and not in
 * it is a way in or out that nobody asked for. Kubernetes tells of neither.
 */

/** Where what reaches us is. A cluster that has it elsewhere changes this with its overlay. */
const NAMESPACES = {
  ...{ ingress: "ingress-nginx", keda: "keda", prometheus: "monitoring" },
  envoy: "envoy-gateway-system",
} as const;
const DNS = ['namespace kube-system pods {"k8s-app":"kube-dns"}', "the node's DNS cache"];
const PUBLIC = ["public IPv4", "public IPv6"];
/** Postgres and Redis: all of ours need both, in private networks or beside them. */
const STORES = [5432, 6379];
const PRIVATE = "egress to private networks TCP/";

const HTTPS = [443];
/** Public ports of a role. Mail servers; webhooks, and mails by a submission server; the bucket. */
const OUTWARD: Readonly<Record<string, readonly number[]>> = {
  api: [...HTTPS, 25],
  bulk: [...HTTPS, 25],
  relay: [...HTTPS, 80, 465, 587],
  migrate: HTTPS,
};

const roleOf = ({ labels }: Workload) => labels["app.kubernetes.io/component"] ?? "";
const isOurs = ({ labels }: Workload) => labels["app.kubernetes.io/name"] === "rcpt";
const portsOf = ({ pod }: Workload) =>
  pod.containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort));

/** `egress to namespace X TCP/port` for the collector that a setting names within the cluster. */
function collectorOf(documents: readonly Document[], workload: Workload): string[] {
  const url = ownContainers(documents, [workload])[0]?.environment.values.get("OTEL_EXPORTER_OTLP_ENDPOINT");
  const inside = /^http:\/\/[\w-]+\.([\w-]+)\.svc(?:\.[\w.]+)?:(\d+)/.exec(url ?? "");
  return inside === null ? [] : [`egress to namespace ${inside[1]} TCP/${inside[2]}`];
}

function outwardOf(documents: readonly Document[], workload: Workload): string[] {
  return [
    ...DNS.flatMap((peer) => [`egress to ${peer} UDP/53`, `egress to ${peer} TCP/53`]),
    ...PUBLIC.flatMap((peer) =>
      (OUTWARD[roleOf(workload)] ?? []).map((port) => `egress to ${peer} TCP/${port}`),
    ),
    ...collectorOf(documents, workload),
  ];
}

/** Namespaces that send requests: the controller's of an Ingress, that of a Gateway, and Envoy Gateway's own where it serves. */
function frontsOf(documents: readonly Document[]): string[] {
  const routes = ofKind<{ parentRefs?: { namespace?: string }[] }>(documents, "HTTPRoute");
  return [
    ...(ofKind(documents, "Ingress").length > 0 ? [NAMESPACES.ingress] : []),
    ...(ofKind(documents, "BackendTrafficPolicy").length > 0 ? [NAMESPACES.envoy] : []),
    ...routes.flatMap(({ spec }) => (spec.parentRefs ?? []).flatMap(({ namespace }) => namespace ?? [])),
  ];
}

function inwardOf(documents: readonly Document[], workload: Workload): string[] {
  const role = roleOf(workload);
  const isScraped = !ends(workload) && ofKind(documents, "PodMonitor").length > 0;
  const isAsked = role === "relay" && ofKind(documents, "ScaledObject").length > 0;
  return [
    ...(role === "api" ? frontsOf(documents).map((name) => `ingress from namespace ${name} TCP/8080`) : []),
    ...(isScraped ? [`ingress from namespace ${NAMESPACES.prometheus} TCP/9090`] : []),
    ...(isAsked ? [`ingress from namespace ${NAMESPACES.keda} TCP/9090`] : []),
  ];
}

/** Stores that are here too: who of ours asks whom. */
function besides(workload: Workload, workloads: readonly Workload[]): string[] {
  if (!isOurs(workload))
    return workloads
      .filter(isOurs)
      .flatMap(({ name }) => portsOf(workload).map((port) => `ingress from ${name} TCP/${port}`));
  return workloads
    .filter((one) => !isOurs(one))
    .flatMap((one) => portsOf(one).map((port) => `egress to ${one.name} TCP/${port}`));
}

function expectedOf(documents: readonly Document[], workload: Workload, all: readonly Workload[]): string[] {
  const near = besides(workload, all);
  if (!isOurs(workload)) return near;
  const stores = near.length > 0 ? [] : STORES.map((port) => `${PRIVATE}${port}`);
  return [...outwardOf(documents, workload), ...inwardOf(documents, workload), ...near, ...stores];
}

/** A Service that puts a port onto nodes, or before a balancer of the cloud: only requests are for others. */
function openServices(documents: readonly Document[]): Finding[] {
  type Spec = {
    type?: string;
    externalIPs?: string[];
    ports?: { port: number; targetPort?: string | number }[];
  };
  return ofKind<Spec>(documents, "Service").flatMap(({ metadata, spec }) => {
    const { type = "ClusterIP", externalIPs = [], ports = [] } = spec;
    if (type === "ClusterIP" && externalIPs.length === 0) return [];
    return ports
      .filter(({ port, targetPort = port }) => targetPort !== "http")
      .map(({ port }) => ({
        ...{ where: `Service/${metadata.name}`, text: `shows port ${port} to the world (${type})` },
      }));
  });
}

export function checkReach(documents: readonly Document[]): Finding[] {
  const grants = listGrants(documents);
  const workloads = workloadsOf(documents);
  const found = workloads.flatMap((workload) => {
    const mine = grants.filter((one) => one.workload === workload.name);
    const expected = expectedOf(documents, workload, workloads);
    const missing = expected.filter((text) => !mine.some((one) => one.text === text));
    // Whatever else of one's own is named there on purpose; port 25 has a check of its own.
    const more = mine.filter(({ text }) => !expected.includes(text) && !text.startsWith(PRIVATE));
    return [
      ...missing.map((text) => ({ where: workload.name, text: `has no ${text}, and needs it` })),
      ...more.map(({ policy, text }) => ({
        ...{ where: `NetworkPolicy/${policy}`, text: `gives ${workload.name} ${text}, which nothing needs` },
      })),
    ];
  });
  return [...found, ...openServices(documents)];
}
