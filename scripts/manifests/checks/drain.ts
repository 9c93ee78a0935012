import {
  type Container,
  type Document,
  ends,
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
/** uWebSockets.js closes an idle connection after 10 s, by a clock that ticks every 4. */
const IDLE_S = 12;
/** Listened on before stores and schema are waited for (src/app/role.ts). */
const FIRST_PORT = "metrics";

/** What the hook takes of the grace; null: it cannot be told from here, and is not to be taken for nothing. */
function preStopSeconds({ lifecycle }: Container): number | null {
  const preStop = lifecycle?.preStop;
  if (preStop === undefined) return 0;
  if (preStop.sleep !== undefined) return preStop.sleep.seconds;
  const [program, seconds = "", ...more] = preStop.exec?.command ?? [];
  return program === "sleep" && /^\d+$/.test(seconds) && more.length === 0 ? Number(seconds) : null;
}

const windowOf = ({ periodSeconds = 10, failureThreshold = 3 }: Probe) => periodSeconds * failureThreshold;

function checkProbes({ startupProbe, readinessProbe, livenessProbe }: Container): string[] {
  if (!startupProbe || !readinessProbe || !livenessProbe)
    return ["has not all of startup, readiness and liveness probes"];
  const found: string[] = [];
  for (const [name, probe] of Object.entries({ startup: startupProbe, liveness: livenessProbe })) {
    if (probe.httpGet?.path !== "/healthz")
      found.push(`its ${name} asks more than whether it lives (/healthz): it is restarted while it waits`);
    if (probe.httpGet?.port !== FIRST_PORT)
      found.push(`its ${name} asks a port that is not there before all else (${FIRST_PORT})`);
  }
  if (readinessProbe.httpGet?.path !== "/readyz") found.push("its readiness does not ask for it (/readyz)");
  if (windowOf(livenessProbe) < LIVENESS_MIN_S)
    found.push(`it is restarted after ${windowOf(livenessProbe)} s of silence`);
  if (windowOf(startupProbe) < STARTUP_MIN_S) found.push(`it has only ${windowOf(startupProbe)} s to start`);
  return found;
}

/** That SIGTERM, probes and the kubelet agree on how long a pod takes to go. */
export function checkDrain(documents: readonly Document[]): Finding[] {
  const services = ofKind<{ selector?: Record<string, string> }>(documents, "Service");
  const serving = ownContainers(documents, workloadsOf(documents)).filter(({ workload }) => !ends(workload));
  return serving.flatMap(({ workload, container, environment: { values } }) => {
    const found = checkProbes(container);
    const graceS = Number(values.get("SHUTDOWN_GRACE_MS") ?? 25_000) / 1_000;
    const drainS = Number(values.get("DRAIN_DELAY_MS") ?? 0) / 1_000;
    const preStopS = preStopSeconds(container);
    if (preStopS === null) found.push("has a preStop of which nobody knows how long it takes: only sleep");
    const needed = (preStopS ?? 0) + graceS + MARGIN_S;
    const given = workload.pod.terminationGracePeriodSeconds ?? 30;
    if (given < needed) found.push(`is killed ${given} s after it is told to stop, and needs ${needed} s`);
    if (drainS * 2 > graceS) found.push("spends more than half of its grace on DRAIN_DELAY_MS");
    const isBalanced = (container.ports ?? []).some(({ name }) => name === "http") && services.length > 0;
    const seenS = windowOf(container.readinessProbe ?? {});
    if (isBalanced && drainS <= seenS)
      found.push(
        `stops listening ${drainS} s after SIGTERM, and ${seenS} s pass before its readiness is known`,
      );
    if (isBalanced && drainS <= IDLE_S)
      found.push(
        `stops ${drainS} s after SIGTERM, and an idle connection lives ${IDLE_S} s: one may be in use`,
      );
    return found.map((text) => ({ where: workload.name, text }));
  });
}
