import assert from "node:assert/strict";
import { describe } from "node:test";
import type { ScaledObjectSpec, Trigger } from "../../../../scripts/manifests/checks/figures.ts";
import type { Document } from "../../../../scripts/manifests/documents.ts";
import { type Break, finds, set } from "./broken.ts";
import { the } from "./built.ts";

/** Metrics of autoscalers, checked against the names in the code. */

const scaled = (d: Document[]) => the<ScaledObjectSpec>(d, "ScaledObject", "rcpt-bulk").spec;
function trigger(d: Document[], name: string): Trigger {
  const found = scaled(d).triggers.find((one) => one.name === name);
  assert.ok(found, name);
  return found;
}
const told =
  (name: string, values: Record<string, string>): Break =>
  (d) =>
    set(trigger(d, name).metadata, values);

describe("KEDA", () =>
  finds("scaling", [
    [
      "a type that there is not",
      (d) => set(trigger(d, "chunks-waiting"), { type: "redis-stream" }),
      /of type redis-stream, which KEDA has not/,
    ],
    [
      "a key that there is not",
      (d) => {
        const { metadata } = trigger(d, "chunks-waiting");
        delete metadata.lagCount;
        metadata.lagcount = "8";
      },
      /chunks-waiting lagcount, which redis-streams does not know/,
    ],
    [
      "no threshold",
      (d) => void delete trigger(d, "whole-lists-waiting").metadata.lagCount,
      /does not tell the trigger whole-lists-waiting lagCount/,
    ],
    [
      "another stream",
      told("chunks-waiting", { stream: "rcpt:{bulk}:task" }),
      /the stream rcpt:\{bulk\}:task, which nobody writes/,
    ],
    [
      "a stream twice and another not at all",
      told("retries-waiting", { stream: "rcpt:{bulk}:tasks" }),
      /does not ask for rcpt:\{bulk\}:retry/,
    ],
    [
      "another group",
      told("retries-waiting", { consumerGroup: "worker" }),
      /the group worker, and workers read as workers/,
    ],
    [
      "a series of one process",
      told("tasks-outstanding", { valueLocation: "rcpt_http_requests_in_flight" }),
      /not of the whole deployment/,
    ],
    [
      "no series",
      told("tasks-outstanding", { valueLocation: "rcpt_chunks_open" }),
      /rcpt_chunks_open, which no process has/,
    ],
    [
      "nothing that shows a huge job",
      told("tasks-outstanding", { valueLocation: "rcpt_dead_letters" }),
      /does not ask for rcpt_chunks_outstanding/,
    ],
  ]));

interface Hpa {
  metrics: { external?: { metric: { name: string } } }[];
}
describe("an HPA", () =>
  finds(
    "scaling",
    [
      [
        "of a series of one process",
        (d) => {
          const [first] = the<Hpa>(d, "HorizontalPodAutoscaler", "rcpt-bulk").spec.metrics;
          set(first?.external?.metric, { name: "rcpt_bulk_places_in_use" });
        },
        /rcpt_bulk_places_in_use, which (no process has|is not of the whole)/,
      ],
      [
        "of rows done",
        (d) => {
          const [first] = the<Hpa>(d, "HorizontalPodAutoscaler", "rcpt-bulk").spec.metrics;
          set(first?.external?.metric, { name: "rcpt_bulk_rows_total" });
        },
        /rcpt_bulk_rows_total, which is not of the whole deployment/,
      ],
    ],
    "without KEDA, by an Ingress",
  ));
