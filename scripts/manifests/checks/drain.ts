import {
  type Container,
  type Document,
  type Finding,
  ofKind,
  type Probe,
  workloadsOf,
} from "../documents.ts";
import { ownContainers } from "../environment.ts";

/** For the kubelet, and for what a process does before and after its lifecycle. */
const MARGIN_S = 5;
/** Less, and a garbage collection or a busy node restarts a process that is well. */
const LIVENESS_MIN_S = 30;
const STARTUP_MIN_S = 60;

function preStopSeconds({ lifecycle }: Container): number {
  const { exec, sleep } = lifecycle?.preStop ?? {};
  return sleep?.seconds ?? (exec?.command[0] === "sleep" ? Number(exec.command[1]) : 0);
}

const windowOf = ({ periodSeconds = 10, failureThreshold = 3 }: Probe) => periodSeconds * failureThreshold;

function checkProbes({ startupProbe, readinessProbe, livenessProbe }: Container): string[] {
  if (!startupProbe || !readinessProbe || !livenessProbe)
    return ["has not all of startup, readiness and liveness probes"];
  const found: string[] = [];
  if (livenessProbe.httpGet?.path !== "/healthz")
    found.push("its liveness asks more than whether it lives (/healthz)");
  if (readinessProbe.httpGet?.path !== "/readyz") found.push("its readiness does not ask for it (/readyz)");
  if (windowOf(livenessProbe) < LIVENESS_MIN_S)
    found.push(`it is restarted after ${windowOf(livenessProbe)} s of silence`);
  if (windowOf(startupProbe) < STARTUP_MIN_S) found.push(`it has only ${windowOf(startupProbe)} s to start`);
  return found;
}

/** That SIGTERM, probes and the kubelet agree on how long a pod takes to go. */
export function checkDrain(documents: readonly Document[]): Finding[] {
  const services = ofKind<{ selector?: Record<string, string> }>(documents, "Service");
  const serving = ownContainers(documents, workloadsOf(documents)).filter(
    ({ workload }) => workload.document.kind !== "Job",
  );
  return serving.flatMap(({ workload, container, environment: { values } }) => {
    const found = checkProbes(container);
    const graceS = Number(values.get("SHUTDOWN_GRACE_MS") ?? 25_000) / 1_000;
    const drainS = Number(values.get("DRAIN_DELAY_MS") ?? 0) / 1_000;
    const needed = preStopSeconds(container) + graceS + MARGIN_S;
    const given = workload.pod.terminationGracePeriodSeconds ?? 30;
    if (given < needed) found.push(`is killed ${given} s after it is told to stop, and needs ${needed} s`);
    if (drainS * 2 > graceS) found.push("spends more than half of its grace on DRAIN_DELAY_MS");
    const isBalanced = (container.ports ?? []).some(({ name }) => name === "http") && services.length > 0;
    const seenS = windowOf(container.readinessProbe ?? {});
    if (isBalanced && drainS <= seenS)
      found.push(
        `stops listening ${drainS} s after SIGTERM, and ${seenS} s pass before its readiness is known`,
      );
    return found.map((text) => ({ where: workload.name, text }));
  });
}
