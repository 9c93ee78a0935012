import { isOwnNetwork, specialIn, whyNoBlock } from "../cidr.ts";
import {
  type Document,
  type Finding,
  ofKind,
  placeOf,
  selects,
  type Workload,
  workloadsOf,
} from "../documents.ts";
import type { PolicySpec, Rule } from "./grants.ts";

const SMTP = 25;
/** Who may ask mail servers. */
const PROBERS = ["api", "bulk"];

/** Whether a rule opens a port; without ports it opens all. */
function opens({ ports }: Rule, wanted: number): boolean {
  if (ports === undefined || ports.length === 0) return true;
  return ports.some(({ port, endPort, protocol = "TCP" }) => {
    if (protocol !== "TCP") return false;
    if (port === undefined) return true;
    return typeof port === "number" && port <= wanted && wanted <= (endPort ?? port);
  });
}

const isOurs = ({ labels }: Workload) => labels["app.kubernetes.io/name"] === "rcpt";

function checkRule(rule: Rule, chosen: readonly Workload[]): string[] {
  const { to = [] } = rule;
  if (to.length === 0) return ["has a rule of egress to anywhere, private networks included"];
  const found: string[] = [];
  const others = chosen.filter(
    ({ labels }) => !PROBERS.includes(labels["app.kubernetes.io/component"] ?? ""),
  );
  if (opens(rule, SMTP))
    for (const { name } of others)
      found.push(`lets ${name} reach port ${SMTP}, which only ${PROBERS.join(" and ")} may`);
  for (const { ipBlock } of to) {
    if (ipBlock === undefined) {
      if (opens(rule, SMTP)) found.push(`opens port ${SMTP} within the cluster`);
    } else if (!isOwnNetwork(ipBlock.cidr)) {
      for (const special of specialIn(ipBlock)) found.push(`lets ${special} through in ${ipBlock.cidr}`);
    } else if (opens(rule, SMTP)) found.push(`opens port ${SMTP} of ${ipBlock.cidr}, which is not public`);
  }
  return found;
}

function deniesAll({
  spec: { podSelector = {}, policyTypes = [], ingress = [], egress = [] },
}: Document<PolicySpec>): boolean {
  const isForAll = Object.keys(podSelector).length === 0;
  const isForBoth = policyTypes.includes("Ingress") && policyTypes.includes("Egress");
  return isForAll && isForBoth && ingress.length === 0 && egress.length === 0;
}

/** Blocks that are none: nothing else is asked of them. */
function wrongBlocks(policies: readonly Document<PolicySpec>[]): Finding[] {
  return policies.flatMap((policy) =>
    blocksOf(policy).flatMap((block) => {
      const text = whyNoBlock(block);
      return text === null ? [] : [{ where: placeOf(policy as unknown as Document), text }];
    }),
  );
}

function blocksOf({ spec: { ingress = [], egress = [] } }: Document<PolicySpec>) {
  const rules: Rule[] = [...ingress, ...egress];
  const peers = rules.flatMap(({ from = [], to = [] }) => [...from, ...to]);
  return peers.flatMap(({ ipBlock }) => ipBlock ?? []);
}

/** Denied by default; port 25 from those that probe and to the public Internet alone; nobody to private networks unnamed. */
export function checkNetwork(documents: readonly Document[]): Finding[] {
  const policies = ofKind<PolicySpec>(documents, "NetworkPolicy");
  const wrong = wrongBlocks(policies);
  if (wrong.length > 0) return wrong;
  const workloads = workloadsOf(documents).filter(isOurs);
  const found: Finding[] = policies.flatMap((policy) => {
    const { podSelector = {}, egress = [] } = policy.spec;
    const chosen = workloads.filter(({ labels }) => selects(podSelector, labels));
    const where = placeOf(policy as unknown as Document);
    return egress.flatMap((rule) => checkRule(rule, chosen).map((text) => ({ where, text })));
  });
  if (!policies.some(deniesAll)) found.push({ where: "NetworkPolicy", text: "nothing is denied by default" });
  for (const { name, labels } of workloads) {
    if (!PROBERS.includes(labels["app.kubernetes.io/component"] ?? "")) continue;
    const mine = policies.filter(({ spec }) => selects(spec.podSelector ?? {}, labels));
    const probes = mine.some(({ spec }) => (spec.egress ?? []).some((rule) => opens(rule, SMTP)));
    if (!probes) found.push({ where: name, text: `cannot reach port ${SMTP}: no policy opens it` });
  }
  return found;
}
