import type { IHorizontalPodAutoscalerSpec } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscalerSpec";
import { Registry } from "prom-client";
import { jobStreamKeys } from "../../../src/features/bulk/schedule/job-stream.ts";
import { pipelineSeries } from "../../../src/platform/metrics/pipeline.ts";
import { ClearableGauge } from "../../../src/platform/telemetry/custom-metrics.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";
import { type Document, type Finding, ofKind, placeOf } from "../documents.ts";

/** What autoscalers ask for: that it is there under that name. KEDA takes a stream that is not there for an empty one. */

export interface Trigger {
  type: string;
  name?: string;
  metadata: Record<string, string>;
  authenticationRef?: { name: string };
}

export interface ScaledObjectSpec {
  scaleTargetRef: IHorizontalPodAutoscalerSpec["scaleTargetRef"];
  minReplicaCount?: number;
  maxReplicaCount?: number;
  triggers: Trigger[];
}

export type HpaSpec = IHorizontalPodAutoscalerSpec;

/** Of each type what it is told; KEDA passes over what it does not know. */
const STREAMS = ["redis-streams", "redis-cluster-streams", "redis-sentinel-streams"];
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    STREAMS.map((type) => [
      type,
      ["stream", "consumerGroup", "lagCount", "activationLagCount", "databaseIndex"],
    ]),
  ),
  "metrics-api": ["url", "format", "valueLocation", "targetValue", "activationTargetValue"],
  prometheus: ["serverAddress", "query", "threshold", "activationThreshold"],
};
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(STREAMS.map((type) => [type, ["stream", "consumerGroup", "lagCount"]])),
  "metrics-api": ["url", "format", "valueLocation", "targetValue"],
  prometheus: ["serverAddress", "query", "threshold"],
};
/** Streams of everybody: those of an egress' own retries no pod elsewhere helps. */
const SHARED = ["tasks", "whole", "retry"];

function streamsOfOurs(): string[] {
  const { streams } = jobStreamKeys("");
  return SHARED.flatMap((name) => streams[name] ?? []);
}

/** `http://service.namespace.svc[...]:port/metrics` of what is here. */
function checkMetricsUrl(url: string, documents: readonly Document[]): string[] {
  if (!URL.canParse(url)) return [`asks ${url}, which is no URL`];
  const { hostname, port, pathname } = new URL(url);
  const [name, namespace] = hostname.split(".");
  const service = ofKind<{ ports?: { port: number }[] }>(documents, "Service").find(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  );
  if (service === undefined) return [`asks ${url}, where no Service is`];
  const found = (service.spec.ports ?? []).some((one) => one.port === Number(port || 80));
  if (!found) return [`asks port ${port || 80} of ${name}, which it has not`];
  return pathname === "/metrics" ? [] : [`asks ${pathname}, and metrics are at /metrics`];
}

function checkForm({ type, name = type, metadata }: Trigger): string[] {
  const known = KNOWN[type];
  if (known === undefined)
    return [`has the trigger ${name} of type ${type}, which KEDA has not, or we do not use`];
  const { group } = jobStreamKeys("");
  const isStream = STREAMS.includes(type);
  return [
    ...Object.keys(metadata)
      .filter((key) => !known.includes(key))
      .map((key) => `tells the trigger ${name} ${key}, which ${type} does not know`),
    ...(REQUIRED[type] ?? [])
      .filter((key) => (metadata[key] ?? "") === "")
      .map((key) => `does not tell the trigger ${name} ${key}`),
    ...(isStream && !streamsOfOurs().includes(metadata.stream ?? "")
      ? [`asks for the stream ${metadata.stream}, which nobody writes`]
      : []),
    ...(isStream && metadata.consumerGroup !== group
      ? [`asks for the group ${metadata.consumerGroup}, and workers read as ${group}`]
      : []),
  ];
}

function checkTriggers({ spec }: Document<ScaledObjectSpec>, documents: readonly Document[]): string[] {
  const auths = ofKind(documents, "TriggerAuthentication").map(({ metadata }) => metadata.name);
  const asked = spec.triggers.map(({ metadata }) => metadata.stream);
  return [
    ...streamsOfOurs()
      .filter((stream) => !asked.includes(stream))
      .map((stream) => `does not ask for ${stream}`),
    ...(spec.triggers.some(({ metadata: { valueLocation, query } }) =>
      `${valueLocation}${query}`.includes(OUTSTANDING),
    )
      ? []
      : [`does not ask for ${OUTSTANDING}: a huge job shows in nothing else`]),
    ...spec.triggers.flatMap((trigger) => [
      ...checkForm(trigger),
      ...(trigger.authenticationRef && !auths.includes(trigger.authenticationRef.name)
        ? [`names the TriggerAuthentication ${trigger.authenticationRef.name}, which is not there`]
        : []),
      ...(trigger.type === "metrics-api" ? checkMetricsUrl(trigger.metadata.url ?? "", documents) : []),
    ]),
  ];
}

const OUTSTANDING = "rcpt_chunks_outstanding";

/** Series that there are, and those of them that relays count, of the whole deployment. */
function seriesThere(): { all: Set<string>; ofRelays: Set<string> } {
  const registry = new Registry();
  pipelineSeries([registry]);
  const counted = registry.getMetricsAsArray().filter((metric) => metric instanceof ClearableGauge);
  return {
    all: new Set(
      createMetrics()
        .registry.getMetricsAsArray()
        .map(({ name }) => name),
    ),
    ofRelays: new Set(counted.map(({ name }) => name)),
  };
}

/** What an HPA asks of pods is of each; all else is of the whole deployment, and is a relay's to say. */
function wrongSeries(documents: readonly Document[]): Finding[] {
  const { all, ofRelays } = seriesThere();
  const hpas = ofKind<HpaSpec>(documents, "HorizontalPodAutoscaler").flatMap((one) =>
    (one.spec.metrics ?? []).map(({ pods, external }) => ({
      ...{ one: one as unknown as Document, name: (pods ?? external)?.metric.name },
      ofAll: external !== undefined,
    })),
  );
  const scaled = ofKind<ScaledObjectSpec>(documents, "ScaledObject").flatMap((one) =>
    one.spec.triggers.map(({ metadata }) => ({
      ...{ one: one as unknown as Document, name: metadata.valueLocation, ofAll: true },
    })),
  );
  return [...hpas, ...scaled].flatMap(({ one, name, ofAll }) => {
    const where = placeOf(one);
    if (name === undefined) return [];
    if (!all.has(name)) return [{ where, text: `asks for ${name}, which no process has` }];
    return ofAll && !ofRelays.has(name)
      ? [{ where, text: `asks for ${name}, which is not of the whole deployment` }]
      : [];
  });
}

export function checkFigures(documents: readonly Document[]): Finding[] {
  return [
    ...wrongSeries(documents),
    ...ofKind<ScaledObjectSpec>(documents, "ScaledObject").flatMap((one) =>
      checkTriggers(one, documents).map((text) => ({ where: placeOf(one as unknown as Document), text })),
    ),
  ];
}
