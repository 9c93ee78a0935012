import { LIMITS } from "../config/limits/limits.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import type { Clock } from "./time/clock.ts";

const DEPENDENCIES = ["postgres", "redis", "objects", "checks"] as const;
export type Dependency = (typeof DEPENDENCIES)[number];
export type DependencyState = "ok" | "down" | "unconfigured";

export interface ReadinessReport {
  /**
   * `unavailable`: a required one is down. `degraded`: an optional one is; requests are served all the same. `draining`: the
   * process is about to end, and still serves.
   */
  status: "ready" | "degraded" | "unavailable" | "draining";
  dependencies: Record<Dependency, DependencyState>;
}

/**
 * Dependencies of readiness. Without Redis each process keeps rates for itself and caches live shorter; without object
 * storage only bulk jobs stop.
 */
const REQUIRED: readonly Dependency[] = ["postgres", "checks"];

/** Each resolves when the dependency answers and rejects when it does not; null: not configured. */
export type Probes = Record<Dependency, (() => Promise<void>) | null>;

/**
 * Asks every dependency, at most once every `LIMITS.readiness.freshMs` however often it is called, each within
 * `LIMITS.readiness.timeoutMs`.
 */
export function createReadiness(deps: {
  probes: Probes;
  clock: Clock;
  metrics: Metrics;
  isDraining(): boolean;
}): () => Promise<ReadinessReport> {
  const { clock, metrics, probes, isDraining } = deps;
  let latest: { at: number; report: Promise<ReadinessReport> } | null = null;
  let known: ReadinessReport["dependencies"] | null = null;

  async function askOne(name: Dependency): Promise<DependencyState> {
    const probe = probes[name];
    if (probe === null) return "unconfigured";
    let timer: { cancel(): void } | undefined;
    const expired = new Promise<DependencyState>((resolve) => {
      timer = clock.after(LIMITS.readiness.timeoutMs, () => resolve("down"));
    });
    const answered = probe().then(
      (): DependencyState => "ok",
      (): DependencyState => "down",
    );
    const state = await Promise.race([answered, expired]);
    timer?.cancel();
    metrics.dependencyUp.set({ dependency: name }, state === "ok" ? 1 : 0);
    return state;
  }

  async function askAll(): Promise<ReadinessReport> {
    const [postgres, redis, objects, checks] = await Promise.all([
      askOne("postgres"),
      askOne("redis"),
      askOne("objects"),
      askOne("checks"),
    ]);
    const dependencies = { postgres, redis, objects, checks };
    known = dependencies;
    const down = DEPENDENCIES.filter((name) => dependencies[name] === "down");
    if (down.length === 0) return { status: "ready", dependencies };
    const required = down.some((name) => REQUIRED.includes(name));
    return { status: required ? "unavailable" : "degraded", dependencies };
  }

  function ask(): Promise<ReadinessReport> {
    const now = clock.monotonic();
    if (latest === null || now - latest.at >= LIMITS.readiness.freshMs)
      latest = { at: now, report: askAll() };
    return latest.report;
  }

  return async () => {
    if (!isDraining()) return ask();
    // Answers from the last report, if there is one: to stop sending requests, a balancer must not wait for a dependency.
    return { status: "draining", dependencies: known ?? (await ask()).dependencies };
  };
}
