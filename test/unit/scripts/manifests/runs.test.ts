import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Document } from "../../../../scripts/manifests/documents.ts";
import { finds, set, without } from "./broken.ts";
import { containerOf, podOf, the } from "./built.ts";

/** Commands, roles and environment of containers. */

const env = (d: Document[], name: string, variable: string, kind = "Deployment") => {
  const found = containerOf(d, name, kind).env?.find((one) => one.name === variable);
  assert.ok(found, variable);
  return found;
};
const unmount = (name: string, path: string) => (d: Document[]) => {
  const container = containerOf(d, name);
  container.volumeMounts = container.volumeMounts?.filter(({ mountPath }) => mountPath !== path) ?? [];
};

describe("runs", () =>
  finds("runs", [
    [
      "a file that the image has not",
      (d) => set(containerOf(d, "rcpt-api"), { command: ["node", "dist/main.js"] }),
      /rcpt-api runs node dist\/main.js, and the image has node dist\/src\/main.js/,
    ],
    [
      "a verb that there is not",
      (d) => set(containerOf(d, "rcpt-migrate", "Job"), { args: ["migrat"] }),
      /the verb migrat, which there is not/,
    ],
    ["a Job without a verb", (d) => void delete containerOf(d, "rcpt-migrate", "Job").args, /says no verb/],
    [
      "a role with a verb",
      (d) => set(containerOf(d, "rcpt-bulk"), { args: ["doctor"] }),
      /says the verb doctor, and is there to serve/,
    ],
    [
      "no role",
      (d) => {
        const container = containerOf(d, "rcpt-relay");
        container.env = container.env?.filter(({ name }) => name !== "ROLE") ?? [];
      },
      /rcpt-relay has the role that is the standard/,
    ],
    ["another's role", (d) => set(env(d, "rcpt-bulk", "ROLE"), { value: "relay" }), /is named bulk/],
    ["no /tmp", unmount("rcpt-relay", "/tmp"), /rcpt-relay writes to \/tmp/],
    ["no scratch", unmount("rcpt-bulk", "/scratch"), /rcpt-bulk writes to \/scratch/],
    [
      "scratch elsewhere",
      (d) => set(env(d, "rcpt-api", "SCRATCH_DIR"), { value: "/var/scratch" }),
      /rcpt-api writes to \/var\/scratch/,
    ],
    [
      "scratch that cannot be written",
      (d) => {
        const mount = containerOf(d, "rcpt-api").volumeMounts?.find(({ name }) => name === "scratch");
        set(mount, { readOnly: true });
      },
      /rcpt-api writes to \/scratch/,
    ],
  ]));

describe("what is said to be optional", () =>
  finds("settings", [
    [
      "the database",
      (d) => set(env(d, "rcpt-api", "DATABASE_URL").valueFrom?.secretKeyRef, { optional: true }),
      /rcpt-api would not start without what is said to be optional: DATABASE_URL/,
    ],
    [
      "Redis, of the migration",
      (d) => set(env(d, "rcpt-migrate", "REDIS_URL", "Job").valueFrom?.secretKeyRef, { optional: true }),
      /rcpt-migrate would not start without .*REDIS_URL/,
    ],
  ]));

/** The relay's pod as another kind, as root. */
const asKind = (kind: string, spec: (template: object) => object) => (d: Document[]) => {
  const template = structuredClone({
    metadata: { labels: { "app.kubernetes.io/name": "rcpt", "app.kubernetes.io/component": "relay" } },
    spec: { ...podOf(d, "rcpt-relay"), securityContext: {} },
  });
  const labels = template.metadata.labels;
  d.push({ apiVersion: "v1", kind, metadata: { name: "other", labels }, spec: spec(template) } as Document);
};

describe("pods of every kind", () =>
  finds("pods", [
    [
      "a CronJob",
      asKind("CronJob", (template) => ({ jobTemplate: { spec: { template } } })),
      /CronJob\/other may run as root/,
    ],
    ["a DaemonSet", asKind("DaemonSet", (template) => ({ template })), /DaemonSet\/other may run as root/],
    [
      "a StatefulSet",
      asKind("StatefulSet", (template) => ({ template })),
      /StatefulSet\/other may run as root/,
    ],
    ["a ReplicaSet", asKind("ReplicaSet", (template) => ({ template })), /ReplicaSet\/other may run as root/],
    ["a Pod", asKind("Pod", (template) => (template as { spec: object }).spec), /Pod\/other may run as root/],
  ]));

describe("monitors", () =>
  finds("references", [
    [
      "one that is not there",
      without("PodMonitor", "rcpt-relay"),
      /rcpt-relay has metrics, and no PodMonitor/,
    ],
  ]));

interface Budget {
  minAvailable?: number;
  maxUnavailable?: number;
}

describe("numbers", () =>
  finds("scaling", [
    [
      "an API that nobody scales",
      without("HorizontalPodAutoscaler", "rcpt-api"),
      /rcpt-api says not how many/,
    ],
    ["workers that nobody scales", without("ScaledObject", "rcpt-bulk"), /rcpt-bulk says not how many/],
    [
      "a budget of both",
      (d) => set(the<Budget>(d, "PodDisruptionBudget", "rcpt-api").spec, { minAvailable: 1 }),
      /none or both/,
    ],
    [
      "a budget of none",
      (d) => void delete the<Budget>(d, "PodDisruptionBudget", "rcpt-api").spec.maxUnavailable,
      /none or both/,
    ],
  ]));

describe("priorities", () =>
  finds(
    "scaling",
    [
      [
        "below what is worth a node",
        (d) => set(the(d, "PriorityClass", "rcpt-batch"), { value: -11 }),
        /below -10 no node is added/,
      ],
    ],
    "production and all else",
  ));
