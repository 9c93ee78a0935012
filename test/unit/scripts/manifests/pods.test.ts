import { describe } from "node:test";
import { type Break, finds, set } from "./broken.ts";
import { containerOf, podOf, the } from "./built.ts";

/** Pods that may do more than their work, that go too early, or that would not start, are found. */

describe("pods", () =>
  finds("pods", [
    [
      "an image without a tag",
      (d) => set(containerOf(d, "rcpt-api"), { image: "rcpt" }),
      /neither tag nor digest/,
    ],
    [
      "a registry's port for a tag",
      (d) => set(containerOf(d, "rcpt-api"), { image: "registry:5000/rcpt" }),
      /neither tag nor digest/,
    ],
    ["latest", (d) => set(containerOf(d, "rcpt-api"), { image: "rcpt:latest" }), /another one tomorrow/],
    ["root", (d) => set(podOf(d, "rcpt-bulk"), { securityContext: { runAsUser: 0 } }), /may run as root/],
    [
      "any system call",
      (d) => set(podOf(d, "rcpt-bulk"), { securityContext: { runAsNonRoot: true, runAsUser: 1 } }),
      /seccomp/,
    ],
    [
      "a token",
      (d) => set(podOf(d, "rcpt-migrate", "Job"), { automountServiceAccountToken: true }),
      /token of the cluster/,
    ],
    ["the host's network", (d) => set(podOf(d, "rcpt-api"), { hostNetwork: true }), /shares the host/],
    [
      "a file system that can be written",
      (d) => set(containerOf(d, "rcpt-api"), { securityContext: { readOnlyRootFilesystem: false } }),
      /readOnlyRootFilesystem/,
    ],
    [
      "capabilities",
      (d) => set(containerOf(d, "rcpt-api"), { securityContext: { capabilities: { add: ["NET_ADMIN"] } } }),
      /adds capabilities/,
    ],
    [
      "escalation",
      (d) => set(containerOf(d, "rcpt-api"), { securityContext: {} }),
      /allowPrivilegeEscalation/,
    ],
    ["no requests", (d) => set(containerOf(d, "rcpt-api"), { resources: {} }), /requests no cpu/],
    [
      "requests above limits",
      (d) =>
        set(containerOf(d, "rcpt-api"), {
          resources: {
            requests: { cpu: "1", memory: "2Gi" },
            limits: { memory: "1500Mi", "ephemeral-storage": "20Gi" },
          },
        }),
      /requests more memory/,
    ],
    [
      "a heap that fills its memory",
      (d) =>
        set(containerOf(d, "rcpt-api"), {
          env: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=1200" }],
        }),
      /heap may fill/,
    ],
    [
      "scratch without an end",
      (d) => void podOf(d, "rcpt-api").volumes?.push({ name: "x", emptyDir: {} }),
      /no sizeLimit/,
    ],
    [
      "more scratch than the pod's",
      (d) => void podOf(d, "rcpt-api").volumes?.push({ name: "x", emptyDir: { sizeLimit: "9Gi" } }),
      /evicted first/,
    ],
    [
      "a folder of the host",
      (d) => void podOf(d, "rcpt-api").volumes?.push({ name: "x", hostPath: { path: "/" } }),
      /of the host/,
    ],
  ]));

/** Sets a variable of a container. */
const setting = (name: string, variable: string, value: string): Break => {
  return (d) => {
    const env = containerOf(d, name).env ?? [];
    containerOf(d, name).env = [...env.filter((one) => one.name !== variable), { name: variable, value }];
  };
};

describe("drain", () =>
  finds("drain", [
    [
      "killed early",
      (d) => set(podOf(d, "rcpt-bulk"), { terminationGracePeriodSeconds: 50 }),
      /is killed 50 s after/,
    ],
    ["a grace that grew", setting("rcpt-relay", "SHUTDOWN_GRACE_MS", "60000"), /is killed 65 s after/],
    [
      "a longer preStop",
      (d) => set(containerOf(d, "rcpt-api"), { lifecycle: { preStop: { sleep: { seconds: 20 } } } }),
      /needs 75 s/,
    ],
    [
      "a drain shorter than an idle connection lives",
      setting("rcpt-api", "DRAIN_DELAY_MS", "10000"),
      /idle connection lives 12 s/,
    ],
    ["no drain", setting("rcpt-api", "DRAIN_DELAY_MS", "0"), /stops listening 0 s after SIGTERM/],
    [
      "a slow readiness",
      (d) => set(containerOf(d, "rcpt-api").readinessProbe, { periodSeconds: 7 }),
      /14 s pass before its readiness/,
    ],
    ["a drain of all the grace", setting("rcpt-api", "DRAIN_DELAY_MS", "30000"), /more than half/],
    ["no startup probe", (d) => void delete containerOf(d, "rcpt-api").startupProbe, /has not all of/],
    [
      "liveness that asks for stores",
      (d) =>
        set(containerOf(d, "rcpt-api").livenessProbe, {
          httpGet: { path: "/readyz", port: "http" },
        }),
      /liveness asks more than whether it lives/,
    ],
    [
      "startup that waits for stores",
      (d) =>
        set(containerOf(d, "rcpt-relay").startupProbe, { httpGet: { path: "/readyz", port: "metrics" } }),
      /startup asks more than whether it lives/,
    ],
    [
      "liveness by a port that waits for stores",
      (d) => set(containerOf(d, "rcpt-api").livenessProbe, { httpGet: { path: "/healthz", port: "http" } }),
      /liveness asks a port that is not there/,
    ],
    [
      "a preStop by a shell",
      (d) =>
        set(containerOf(d, "rcpt-api"), {
          lifecycle: { preStop: { exec: { command: ["sh", "-c", "sleep 30"] } } },
        }),
      /preStop of which nobody knows/,
    ],
    [
      "a preStop by a request",
      (d) =>
        set(containerOf(d, "rcpt-api"), {
          lifecycle: { preStop: { httpGet: { path: "/healthz", port: "http" } } },
        }),
      /preStop of which nobody knows/,
    ],
    [
      "a longer preStop by its program",
      (d) =>
        set(containerOf(d, "rcpt-api"), { lifecycle: { preStop: { exec: { command: ["sleep", "30"] } } } }),
      /needs 85 s/,
    ],
    [
      "readiness that is liveness",
      (d) =>
        set(containerOf(d, "rcpt-bulk").readinessProbe, {
          httpGet: { path: "/healthz", port: "metrics" },
        }),
      /does not ask for it/,
    ],
    [
      "restarts after a pause",
      (d) => set(containerOf(d, "rcpt-api").livenessProbe, { failureThreshold: 1 }),
      /restarted after 10 s/,
    ],
    [
      "no time to start",
      (d) => set(containerOf(d, "rcpt-api").startupProbe, { failureThreshold: 10 }),
      /only 10 s to start/,
    ],
  ]));

describe("settings", () =>
  finds("settings", [
    ["a name that is none", setting("rcpt-api", "LOGLEVEL", "debug"), /LOGLEVEL is no setting/],
    [
      "a value that is refused",
      setting("rcpt-bulk", "CHECK_THREADS", "two"),
      /would not start: CHECK_THREADS: must be/,
    ],
    [
      "settings that do not go together",
      setting("rcpt-relay", "DRAIN_DELAY_MS", "30000"),
      /would not start: DRAIN_DELAY_MS: must be at most half/,
    ],
    [
      "what is required",
      (d) => {
        const { env = [] } = containerOf(d, "rcpt-migrate", "Job");
        containerOf(d, "rcpt-migrate", "Job").env = env.filter(({ name }) => name !== "DATABASE_URL");
      },
      /Job\/rcpt-migrate would not start: DATABASE_URL: is required/,
    ],
    [
      "a file that nothing mounts",
      setting("rcpt-api", "SHAPING_FILE", "/etc/shaping.json"),
      /which no ConfigMap puts there/,
    ],
    [
      "a key of the ConfigMap that is no setting",
      (d) => {
        const { data = {} } = the(d, "ConfigMap", "rcpt-settings");
        data.S3_ENDPIONT = "http://minio:9000";
      },
      /S3_ENDPIONT is no setting/,
    ],
    [
      "another port than is listened on",
      (d) => set(containerOf(d, "rcpt-api"), { ports: [{ name: "http", containerPort: 80 }] }),
      /has port http at 80, and listens on 8080/,
    ],
    [
      "a ConfigMap that nobody reads",
      (d) =>
        void d.push({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "spare" }, spec: {}, data: {} }),
      /ConfigMap\/spare nothing reads it/,
    ],
  ]));
