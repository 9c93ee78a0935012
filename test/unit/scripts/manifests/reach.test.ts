import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Peer, PolicySpec, Rule } from "../../../../scripts/manifests/checks/grants.ts";
import type { Document } from "../../../../scripts/manifests/documents.ts";
import { finds, set, without } from "./broken.ts";
import { the } from "./built.ts";

/** Which pods reach which: removed and added paths are found. */

const spec = (d: Document[], name: string) => the<PolicySpec>(d, "NetworkPolicy", name).spec;
const noPolicy = (name: string) => without("NetworkPolicy", name);

function rule(d: Document[], name: string, direction: "ingress" | "egress"): Rule {
  const [first] = spec(d, name)[direction] ?? [];
  assert.ok(first);
  return first;
}
const block = (d: Document[], name: string, at: number): NonNullable<Peer["ipBlock"]> => {
  const found = rule(d, name, "egress").to?.[at]?.ipBlock;
  assert.ok(found);
  return found;
};

describe("what is needed and taken away", () =>
  finds("reach", [
    ["DNS", noPolicy("rcpt-dns"), /Deployment\/rcpt-api has no egress to namespace kube-system .* UDP\/53/],
    [
      "DNS over TCP",
      (d) => void rule(d, "rcpt-dns", "egress").ports?.pop(),
      /rcpt-bulk has no egress to namespace kube-system .* TCP\/53/,
    ],
    [
      "the node's DNS cache",
      (d) => void rule(d, "rcpt-dns", "egress").to?.pop(),
      /the node's DNS cache UDP\/53/,
    ],
    ["stores", noPolicy("rcpt-stores"), /Job\/rcpt-migrate has no egress to private networks TCP\/5432/],
    ["Redis", (d) => void rule(d, "rcpt-stores", "egress").ports?.pop(), /private networks TCP\/6379/],
    ["object storage", noPolicy("rcpt-https"), /rcpt-bulk has no egress to public IPv4 TCP\/443/],
    ["webhooks", noPolicy("rcpt-relay"), /rcpt-relay has no egress to public IPv6 TCP\/80/],
    [
      "mail servers, for the API",
      (d) =>
        set(spec(d, "rcpt-probing"), {
          podSelector: { matchLabels: { "app.kubernetes.io/component": "bulk" } },
        }),
      /rcpt-api has no egress to public IPv4 TCP\/25/,
    ],
    [
      "half of the mail servers",
      (d) => set(block(d, "rcpt-probing", 0), { cidr: "0.0.0.0/1" }),
      /rcpt-bulk has no egress to public IPv4 TCP\/25/,
    ],
    [
      "those of a public network",
      (d) => void block(d, "rcpt-probing", 0).except?.push("74.125.0.0/16"),
      /rcpt-bulk has no egress to public IPv4 TCP\/25/,
    ],
    [
      "those with IPv6",
      (d) => void rule(d, "rcpt-probing", "egress").to?.pop(),
      /rcpt-api has no egress to public IPv6 TCP\/25/,
    ],
    [
      "requests",
      noPolicy("rcpt-api-from-gateway"),
      /rcpt-api has no ingress from namespace gateway-system TCP\/8080/,
    ],
    [
      "the question of the autoscaler",
      noPolicy("rcpt-relay-from-keda"),
      /rcpt-relay has no ingress from namespace keda TCP\/9090/,
    ],
    [
      "scrapes",
      noPolicy("rcpt-metrics-from-prometheus"),
      /rcpt-bulk has no ingress from namespace monitoring TCP\/9090/,
    ],
    [
      "rules of a direction that is not said to be ruled",
      (d) => set(spec(d, "rcpt-https"), { policyTypes: ["Ingress"] }),
      /has no egress to public IPv4 TCP\/443/,
    ],
  ]));

describe("what is needed of Envoy Gateway and taken away", () =>
  finds(
    "reach",
    [
      [
        "its proxies",
        noPolicy("rcpt-api-from-envoy"),
        /rcpt-api has no ingress from namespace envoy-gateway-system TCP\/8080/,
      ],
    ],
    "production on Envoy Gateway and EKS",
  ));

describe("what nothing needs", () =>
  finds("reach", [
    [
      "anybody asking the API",
      (d) => set(spec(d, "rcpt-api-from-gateway"), { ingress: [{}] }),
      /from-gateway gives Deployment\/rcpt-api ingress from anywhere every port/,
    ],
    [
      "any namespace asking it",
      (d) => set(rule(d, "rcpt-api-from-gateway", "ingress"), { from: [{ namespaceSelector: {} }] }),
      /ingress from namespaces by \{\} TCP\/8080/,
    ],
    [
      "its metrics for the gateway",
      (d) => void rule(d, "rcpt-api-from-gateway", "ingress").ports?.push({ port: "metrics" }),
      /namespace gateway-system TCP\/9090, which nothing needs/,
    ],
    [
      "HTTPS to every namespace",
      (d) => void rule(d, "rcpt-https", "egress").to?.push({ namespaceSelector: {} }),
      /gives Job\/rcpt-migrate egress to namespaces by \{\} TCP\/443/,
    ],
    [
      "every port of the public",
      (d) => void delete rule(d, "rcpt-https", "egress").ports,
      /egress to public IPv4 every port/,
    ],
    [
      "a range of ports",
      (d) => set(rule(d, "rcpt-https", "egress"), { ports: [{ port: 443, endPort: 500 }] }),
      /public IPv4 TCP\/443-500/,
    ],
    [
      "pods among themselves",
      (d) => void rule(d, "rcpt-https", "egress").to?.push({ podSelector: {} }),
      /egress to Deployment\/rcpt-relay TCP\/443/,
    ],
    [
      "every port of private networks",
      (d) => void delete rule(d, "rcpt-stores", "egress").ports,
      /egress to private networks every port/,
    ],
    [
      "a policy of somebody else",
      (d) =>
        void d.push({
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: { name: "all" },
          spec: { podSelector: {}, egress: [{ to: [{ ipBlock: { cidr: "8.8.8.0/24" } }] }] },
        }),
      /NetworkPolicy\/all gives .* some of 8.8.8.0\/24/,
    ],
    [
      "scrapes without a monitor",
      (d) => {
        for (const role of ["api", "bulk", "relay"]) without("PodMonitor", `rcpt-${role}`)(d);
      },
      /metrics-from-prometheus gives .* which nothing needs/,
    ],
    [
      "metrics before a balancer",
      (d) => set(the<object>(d, "Service", "rcpt-relay-metrics").spec, { type: "LoadBalancer" }),
      /Service\/rcpt-relay-metrics shows port 9090 to the world/,
    ],
    [
      "metrics on the nodes",
      (d) => set(the<object>(d, "Service", "rcpt-relay-metrics").spec, { type: "NodePort" }),
      /shows port 9090/,
    ],
  ]));

describe("stores beside us", () =>
  finds(
    "reach",
    [
      [
        "that nobody may ask",
        noPolicy("rcpt-to-stores"),
        /rcpt-relay has no egress to StatefulSet\/postgres TCP\/5432/,
      ],
      [
        "that answer nobody",
        noPolicy("stores-from-rcpt"),
        /StatefulSet\/valkey has no ingress from Deployment\/rcpt-api TCP\/6379/,
      ],
      [
        "that anybody may ask",
        (d) => set(spec(d, "stores-from-rcpt"), { ingress: [{}] }),
        /gives StatefulSet\/minio ingress from anywhere/,
      ],
    ],
    "local",
  ));

describe("blocks", () =>
  finds("network", [
    [
      "that are none",
      (d) => set(block(d, "rcpt-stores", 0), { cidr: "10.20.0.0/240" }),
      /10.20.0.0\/240 is no network/,
    ],
    [
      "an exception that is none",
      (d) => void block(d, "rcpt-https", 0).except?.push("10.0.0.0/240"),
      /10.0.0.0\/240 is no network/,
    ],
    [
      "an exception from elsewhere",
      (d) => set(block(d, "rcpt-stores", 0), { except: ["10.30.0.0/24"] }),
      /10.30.0.0\/24 is not within 10.20.0.0\/24/,
    ],
  ]));
