import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ScaledObjectSpec } from "../../scripts/manifests/checks/figures.ts";
import { type Document, ofKind, parseDocuments } from "../../scripts/manifests/documents.ts";
import type { RedisClient } from "../../src/stores/redis.ts";

/**
 * A model of the cluster's autoscalers: their formula, with bounds and thresholds from our manifests and real metric
 * values.
 */

export interface Figure {
  name: string;
  value: number;
  /** Value of the figure that one pod is meant to carry. */
  threshold: number;
}

export interface Bounds {
  min: number;
  max: number;
}

/**
 * Pods that the figures ask for: computed for each figure alone, the highest wins, within bounds (KEDA passes them to
 * an HPA as averages).
 */
export function desiredPods(figures: readonly Figure[], { min, max }: Bounds): number {
  const wanted = figures.map(({ value, threshold }) => Math.ceil(value / threshold));
  return Math.min(max, Math.max(min, ...wanted));
}

/** The value of a series in Prometheus' text. @throws Error when it is not there, as the scaler fails then */
export function seriesOf(text: string, series: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  if (line === undefined) throw new Error(`no series ${series}`);
  return Number(line.slice(series.length + 1));
}

function readManifest(path: string): Document[] {
  return parseDocuments(readFileSync(join(import.meta.dirname, "../../k8s", path), "utf8"));
}

/**
 * The lag as KEDA's redis-streams scaler with `lagCount` reads it. @throws Error when the stream or its group is
 * missing
 */
async function lagOf(redis: RedisClient, stream: string, group: string): Promise<number> {
  const groups = (await redis.xinfo("GROUPS", stream)) as unknown[][];
  for (const fields of groups) {
    const at = (name: string) => fields[fields.indexOf(name) + 1];
    // Redis cannot always compute the lag (nil): the scaler's client reads that as 0.
    if (at("name") === group) return Math.max(0, Number(at("lag") ?? 0));
  }
  throw new Error(`no group ${group} of ${stream}`);
}

/** The ScaledObject of components/keda. */
export function readKeda() {
  const [found] = ofKind<ScaledObjectSpec>(
    readManifest("components/keda/scaled-object.yaml"),
    "ScaledObject",
  );
  if (found === undefined) throw new Error("components/keda has no ScaledObject");
  const { minReplicaCount = 0, maxReplicaCount = 100, triggers } = found.spec;

  /** @param metrics of a relay, as it serves them */
  async function figures(redis: RedisClient, metrics: string): Promise<Figure[]> {
    const all: Figure[] = [];
    for (const { type, name = type, metadata } of triggers) {
      const { stream = "", consumerGroup = "", lagCount, valueLocation = "", targetValue } = metadata;
      const isLag = type === "redis-streams";
      all.push({
        name: `${type} ${name}`,
        value: isLag ? await lagOf(redis, stream, consumerGroup) : seriesOf(metrics, valueLocation),
        threshold: Number(isLag ? lagCount : targetValue),
      });
    }
    return all;
  }
  return { bounds: { min: minReplicaCount, max: maxReplicaCount }, figures };
}

interface HpaSpec {
  minReplicas: number;
  maxReplicas: number;
  metrics: {
    external: {
      metric: { name: string; selector?: { matchLabels: Record<string, string> } };
      target: { averageValue: string };
    };
  }[];
}

/** The HPA of components/hpa-external. */
export function readExternalHpa() {
  const [found] = ofKind<HpaSpec>(
    readManifest("components/hpa-external/hpa.yaml"),
    "HorizontalPodAutoscaler",
  );
  if (found === undefined) throw new Error("components/hpa-external has no HPA");
  const { minReplicas, maxReplicas, metrics: asked } = found.spec;
  const figures = (metrics: string): Figure[] =>
    asked.map(({ external: { metric, target } }) => {
      const labels = Object.entries(metric.selector?.matchLabels ?? {}).map(
        ([key, value]) => `${key}="${value}"`,
      );
      const name = labels.length === 0 ? metric.name : `${metric.name}{${labels.join(",")}}`;
      return { name, value: seriesOf(metrics, name), threshold: Number(target.averageValue) };
    });
  return { bounds: { min: minReplicas, max: maxReplicas }, figures };
}
