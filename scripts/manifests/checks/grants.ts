import type { INetworkPolicyEgressRule } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicyEgressRule";
import type { INetworkPolicyIngressRule } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicyIngressRule";
import type { INetworkPolicyPeer } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicyPeer";
import type { INetworkPolicySpec } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicySpec";
import { isOwnNetwork, publicName, whyNoBlock } from "../cidr.ts";
import {
  type Document,
  ofKind,
  portOf,
  type Selector,
  selects,
  type Workload,
  workloadsOf,
} from "../documents.ts";

/** What NetworkPolicies let through, one by one: in words, so that they can be held to a table. */

export type PolicySpec = Partial<INetworkPolicySpec>;
export type Peer = INetworkPolicyPeer;
/** Of either direction. */
export type Rule = INetworkPolicyIngressRule & INetworkPolicyEgressRule;

export interface Grant {
  /** The policy that gives it. */
  policy: string;
  /** Name of the workload that it is about. */
  workload: string;
  /** E.g. `egress to public IPv4 TCP/25`. */
  text: string;
}

const NAMESPACE = "kubernetes.io/metadata.name";
/** NodeLocal DNSCache listens there, on every node. */
const NODE_DNS = "169.254.20.10/32";

/** Of the label of a namespace's name alone; null: by something else. */
function namespaceIn({ matchLabels = {}, matchExpressions = [] }: Selector): string | null {
  const [name, ...more] = Object.entries(matchLabels);
  return name?.[0] === NAMESPACE && more.length === 0 && matchExpressions.length === 0 ? name[1] : null;
}

function blockIn(block: NonNullable<Peer["ipBlock"]>): string {
  if (whyNoBlock(block) !== null) return `no network (${block.cidr})`;
  if (block.cidr === NODE_DNS) return "the node's DNS cache";
  if (isOwnNetwork(block.cidr)) return "private networks";
  return publicName(block) ?? `some of ${block.cidr}`;
}

/** The workloads that a peer names, or one word for what is not here. */
function peersIn(peer: Peer, workloads: readonly Workload[]): { name: string; workload: Workload | null }[] {
  const outside = (name: string) => [{ name, workload: null }];
  const { ipBlock, podSelector, namespaceSelector } = peer;
  if (ipBlock !== undefined) return outside(blockIn(ipBlock));
  if (namespaceSelector === undefined)
    return workloads
      .filter(({ labels }) => selects(podSelector ?? {}, labels))
      .map((workload) => ({ name: workload.name, workload }));
  const name = namespaceIn(namespaceSelector);
  if (name === null) return outside(`namespaces by ${JSON.stringify(namespaceSelector)}`);
  const pods = podSelector === undefined ? "" : ` pods ${JSON.stringify(podSelector.matchLabels)}`;
  return outside(`namespace ${name}${pods}`);
}

/** @param receiver who has the ports that are named; null: nobody that is here */
function portsIn({ ports = [] }: Rule, receiver: Workload | null): string[] {
  if (ports.length === 0) return ["every port"];
  return ports.flatMap(({ port, endPort, protocol = "TCP" }) => {
    if (port === undefined) return [`every port of ${protocol}`];
    // A name that the receiver has not opens nothing there.
    const number = typeof port === "string" ? receiver && portOf(receiver, port) : port;
    return number === null ? [] : [`${protocol}/${number}${endPort === undefined ? "" : `-${endPort}`}`];
  });
}

/** Rules of a direction that is not among `policyTypes` are no rules. */
function isOf(direction: "Ingress" | "Egress", { policyTypes, egress }: PolicySpec): boolean {
  if (policyTypes !== undefined) return policyTypes.includes(direction);
  return direction === "Ingress" || egress !== undefined;
}

function grantsOf(spec: PolicySpec, workload: Workload, workloads: readonly Workload[]): string[] {
  const ingress = isOf("Ingress", spec) ? (spec.ingress ?? []) : [];
  const egress = isOf("Egress", spec) ? (spec.egress ?? []) : [];
  const anyone = [{ name: "anywhere", workload: null }];
  const peers = (listed: Peer[] = []) =>
    listed.length === 0 ? anyone : listed.flatMap((peer) => peersIn(peer, workloads));
  return [
    ...ingress.flatMap((rule) =>
      peers(rule.from).flatMap((peer) =>
        portsIn(rule, workload).map((port) => `ingress from ${peer.name} ${port}`),
      ),
    ),
    ...egress.flatMap((rule) =>
      peers(rule.to).flatMap((peer) =>
        portsIn(rule, peer.workload).map((port) => `egress to ${peer.name} ${port}`),
      ),
    ),
  ];
}

/** Everything that is let through, of each workload. Of blocks that are none it says nothing: the check `network` does. */
export function listGrants(documents: readonly Document[]): Grant[] {
  const workloads = workloadsOf(documents);
  return ofKind<PolicySpec>(documents, "NetworkPolicy").flatMap(({ metadata, spec }) =>
    workloads
      .filter(({ labels }) => selects(spec.podSelector ?? {}, labels))
      .flatMap((workload) =>
        grantsOf(spec, workload, workloads).map((text) => ({
          ...{ policy: metadata.name, workload: workload.name, text },
        })),
      ),
  );
}
