import assert from "node:assert/strict";
import { describe } from "node:test";
import type { ScaledObjectSpec } from "../../../../scripts/manifests/checks/figures.ts";
import type { Document, Selector } from "../../../../scripts/manifests/documents.ts";
import { type Break, finds, set, without } from "./broken.ts";
import { podOf, the } from "./built.ts";

/** Faults between documents: which autoscaler scales what, and which pods reach which. */

interface Hpa {
  minReplicas: number;
  maxReplicas: number;
  scaleTargetRef: { name: string };
}
const bulkScaling = (d: Document[]) => the<ScaledObjectSpec>(d, "ScaledObject", "rcpt-bulk").spec;

describe("scaling", () =>
  finds("scaling", [
    [
      "replicas beside an autoscaler",
      (d) => set(the<{ replicas: number }>(d, "Deployment", "rcpt-api").spec, { replicas: 3 }),
      /says itself how many/,
    ],
    [
      "two autoscalers",
      (d) =>
        set(the<Hpa>(d, "HorizontalPodAutoscaler", "rcpt-api").spec.scaleTargetRef, { name: "rcpt-bulk" }),
      /is not alone in scaling/,
    ],
    ["a target that is not there", without("Deployment", "rcpt-bulk"), /which is not there/],
    [
      "a container that is not there",
      (d) => {
        const { metrics } = the<{ metrics: { containerResource?: object }[] }>(
          d,
          "HorizontalPodAutoscaler",
          "rcpt-api",
        ).spec;
        set(metrics[0]?.containerResource, { container: "app" });
      },
      /counts the CPU of the container app, which Deployment\/rcpt-api has not/,
    ],
    ["bounds upside down", (d) => set(bulkScaling(d), { minReplicaCount: 21 }), /at least 21 and at most 20/],
    [
      "more workers than one job feeds",
      (d) => set(bulkScaling(d), { maxReplicaCount: 33 }),
      /window feeds 32/,
    ],
    [
      "a budget that lets nobody go",
      (d) =>
        set(the<{ maxUnavailable: number }>(d, "PodDisruptionBudget", "rcpt-api").spec, {
          maxUnavailable: 0,
        }),
      /lets no pod go/,
    ],
    [
      "a budget of more than there may be",
      (d) => {
        const { spec } = the<Record<string, unknown>>(d, "PodDisruptionBudget", "rcpt-bulk");
        delete spec.maxUnavailable;
        spec.minAvailable = 1;
      },
      /wants 1 of Deployment\/rcpt-bulk, which may have only 1/,
    ],
    ["no budget", without("PodDisruptionBudget", "rcpt-relay"), /rcpt-relay has no PodDisruptionBudget/],
    [
      "an authentication that is not there",
      without("TriggerAuthentication", "rcpt-redis"),
      /names the TriggerAuth/,
    ],
    [
      "a figure asked of another namespace",
      (d) => {
        const { metadata } = bulkScaling(d).triggers.find(({ type }) => type === "metrics-api") ?? {};
        assert.ok(metadata);
        metadata.url = "http://rcpt-relay-metrics.default.svc:9090/metrics";
      },
      /where no Service is/,
    ],
    [
      "a figure asked at another port",
      (d) => {
        const { metadata } = bulkScaling(d).triggers.find(({ type }) => type === "metrics-api") ?? {};
        assert.ok(metadata);
        metadata.url = "http://rcpt-relay-metrics.rcpt.svc/metrics";
      },
      /asks port 80/,
    ],
  ]));

const ALL = "production and all else";

describe("scaling by requests in flight", () =>
  finds(
    "scaling",
    [
      [
        "a series that there is not",
        (d) => {
          const { metrics } = the<{ metrics: { pods?: { metric: object } }[] }>(
            d,
            "HorizontalPodAutoscaler",
            "rcpt-api",
          ).spec;
          set(metrics[1]?.pods?.metric, { name: "rcpt_requests_in_flight" });
        },
        /asks for rcpt_requests_in_flight, which no process has/,
      ],
    ],
    ALL,
  ));

interface Policy {
  podSelector: Selector;
  egress: {
    to?: { ipBlock?: { cidr: string; except?: string[] }; podSelector?: Selector }[];
    ports?: { protocol?: string; port?: number; endPort?: number }[];
  }[];
}
const policy = (d: Document[], name: string) => the<Policy>(d, "NetworkPolicy", name).spec;
const blocks = (d: Document[], name: string) =>
  policy(d, name).egress[0]?.to?.map(({ ipBlock }) => ipBlock) ?? [];

describe("network", () =>
  finds("network", [
    ["nothing denied", without("NetworkPolicy", "default-deny"), /nothing is denied by default/],
    [
      "the relay asking mail servers",
      (d) => void policy(d, "rcpt-relay").egress[0]?.ports?.push({ port: 25 }),
      /lets Deployment\/rcpt-relay reach port 25/,
    ],
    [
      "by a range of ports",
      (d) => void policy(d, "rcpt-https").egress[0]?.ports?.push({ port: 20, endPort: 30 }),
      /lets Job\/rcpt-migrate reach port 25/,
    ],
    ["by all ports", (d) => void delete policy(d, "rcpt-https").egress[0]?.ports, /reach port 25/],
    [
      "anywhere",
      (d) => void policy(d, "rcpt-relay").egress.push({ ports: [{ port: 443 }] }),
      /egress to anywhere/,
    ],
    [
      "a private network",
      (d) => {
        const [v4] = blocks(d, "rcpt-probing");
        assert.ok(v4?.except);
        v4.except = v4.except.filter((one) => one !== "100.64.0.0/10");
      },
      /rcpt-probing lets 100.64.0.0\/10 through in 0.0.0.0\/0/,
    ],
    [
      "half of a private network",
      (d) => {
        const [v4] = blocks(d, "rcpt-relay");
        assert.ok(v4?.except);
        v4.except = v4.except.map((one) => (one === "10.0.0.0/8" ? "10.0.0.0/9" : one));
      },
      /rcpt-relay lets 10.0.0.0\/8 through/,
    ],
    [
      "all of IPv6",
      (d) => {
        const [, v6] = blocks(d, "rcpt-probing");
        assert.ok(v6);
        v6.cidr = "::/0";
      },
      /lets fc00::\/7 through in ::\/0/,
    ],
    [
      "port 25 of a private network",
      (d) => void policy(d, "rcpt-stores").egress[0]?.ports?.push({ port: 25 }),
      /opens port 25 of 10.20.0.0\/24/,
    ],
    [
      "port 25 within the cluster",
      (d) => void policy(d, "rcpt-probing").egress[0]?.to?.push({ podSelector: {} }),
      /port 25 within the cluster/,
    ],
    ["nobody probing", without("NetworkPolicy", "rcpt-probing"), /rcpt-bulk cannot reach port 25/],
  ]));

const unlabelled =
  (kind: string, name: string): Break =>
  (d) => {
    const { metadata } = the(d, kind, name);
    metadata.labels = {};
  };

const WAVE = "argocd.argoproj.io/sync-wave";

describe("order", () =>
  finds("order", [
    [
      "a route whose status pods would wait for",
      (d) => set(the(d, "HTTPRoute", "rcpt-api").metadata, { annotations: {} }),
      /HTTPRoute\/rcpt-api is in a wave with pods or before the last one/,
    ],
    [
      "an autoscaler whose status the route would wait for",
      (d) => set(the(d, "ScaledObject", "rcpt-bulk").metadata, { annotations: { [WAVE]: "1" } }),
      /ScaledObject\/rcpt-bulk is in a wave with pods or before the last one/,
    ],
    [
      "autoscalers before the last wave",
      (d) => set(the(d, "HTTPRoute", "rcpt-api").metadata, { annotations: { [WAVE]: "3" } }),
      /HorizontalPodAutoscaler\/rcpt-api is in a wave with pods or before the last one/,
    ],
    [
      "a migration that is not first",
      unlabelled("Job", "rcpt-migrate"),
      /Job\/rcpt-migrate is needed by the migration/,
    ],
    [
      "settings that come later",
      unlabelled("ConfigMap", "rcpt-settings"),
      /ConfigMap\/rcpt-settings.* is needed/,
    ],
    [
      "secrets that come later",
      unlabelled("ExternalSecret", "rcpt-secrets"),
      /ExternalSecret\/rcpt-secrets is needed/,
    ],
    [
      "a way to Postgres that comes later",
      unlabelled("NetworkPolicy", "rcpt-stores"),
      /rcpt-stores is needed/,
    ],
    [
      "a migration that goes by itself",
      (d) => set(the<object>(d, "Job", "rcpt-migrate").spec, { ttlSecondsAfterFinished: 3600 }),
      /rcpt-migrate goes by itself/,
    ],
    [
      "pods that do not wait",
      (d) => set(the(d, "Deployment", "rcpt-api").metadata, { annotations: {} }),
      /rcpt-api is in the wave of the migration/,
    ],
    [
      "pods that come first",
      (d) => set(the(d, "Deployment", "rcpt-bulk").metadata, { labels: { "rcpt-phase": "prepare" } }),
      /rcpt-bulk would be there before/,
    ],
    [
      "a migration in a later wave",
      (d) => set(the(d, "Job", "rcpt-migrate").metadata, { annotations: { [WAVE]: "2" } }),
      /rcpt-migrate is needed by the migration, and in a later wave/,
    ],
    [
      "a migration whose failed attempts leave no log",
      (d) => set(podOf(d, "rcpt-migrate", "Job"), { restartPolicy: "OnFailure" }),
      /rcpt-migrate restarts containers/,
    ],
    [
      "a migration that is tried for half an hour",
      (d) => set(the<object>(d, "Job", "rcpt-migrate").spec, { backoffLimit: 20 }),
      /rcpt-migrate is tried again 20 times/,
    ],
    [
      "a migration that goes on with wrong settings",
      (d) => set(the<object>(d, "Job", "rcpt-migrate").spec, { podFailurePolicy: undefined }),
      /rcpt-migrate is tried again after 2/,
    ],
  ]));

describe("order, with Envoy Gateway", () =>
  finds(
    "order",
    [
      [
        "a policy whose status waits for the route",
        (d) => set(the(d, "BackendTrafficPolicy", "rcpt-api").metadata, { annotations: {} }),
        /BackendTrafficPolicy\/rcpt-api is in a wave with pods or before the last one/,
      ],
    ],
    "production on Envoy Gateway and EKS",
  ));
