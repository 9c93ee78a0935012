import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as a collector gets it; times in milliseconds since the epoch. */
export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** "" for a root span. */
  parentSpanId: string;
  /** OpenTelemetry's number: 1 internal, 2 server, 3 client, 5 consumer. */
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  events: string[];
  /** Trace ids of its links. */
  links: string[];
  failed: boolean;
  /** Resource attributes of the process that sent it. */
  resource: Record<string, unknown>;
}

/** A collector on 127.0.0.1 that takes OTLP over HTTP as JSON and stores it. */
export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string;
  spans: ReceivedSpan[];
  /** Bodies as they came. */
  bodies: string[];
  headers: IncomingHttpHeaders[];
  /** Requests, those without an answer included. */
  requests(): number;
  /** From now on: never answers, closes each connection, or answers with this status and stores nothing. */
  behave(how: "silent" | "gone" | number): void;
  close(): Promise<void>;
}

type Json = Record<string, unknown>;

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value : []);
const msOf = (nanos: unknown): number => Number(BigInt(String(nanos)) / 1_000n) / 1_000;

function attributesOf(list: unknown): Record<string, unknown> {
  return Object.fromEntries(
    listOf(list).map(({ key, value }) => [String(key), Object.values(value as Json)[0]]),
  );
}

function spanOf(span: Json, resource: Record<string, unknown>): ReceivedSpan {
  return {
    name: String(span.name),
    traceId: String(span.traceId),
    spanId: String(span.spanId),
    parentSpanId: String(span.parentSpanId ?? ""),
    kind: Number(span.kind),
    startMs: msOf(span.startTimeUnixNano),
    endMs: msOf(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    events: listOf(span.events).map(({ name }) => String(name)),
    links: listOf(span.links).map(({ traceId }) => String(traceId)),
    failed: (span.status as Json | undefined)?.code === 2,
    resource,
  };
}

function spansOf(body: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body) as Json;
  return listOf(resourceSpans).flatMap(({ resource, scopeSpans }) => {
    const about = attributesOf((resource as Json).attributes);
    return listOf(scopeSpans).flatMap(({ spans }) => listOf(spans).map((span) => spanOf(span, about)));
  });
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let requests = 0;
  let behaviour: "well" | "silent" | "gone" | number = "well";
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    requests += 1;
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (behaviour === "silent") return;
      if (typeof behaviour === "number") {
        response.writeHead(behaviour).end();
        return;
      }
      if (request.method !== "POST" || request.url !== "/v1/traces") {
        response.writeHead(404).end();
        return;
      }
      const body = Buffer.concat(chunks).toString();
      bodies.push(body);
      headers.push(request.headers);
      spans.push(...spansOf(body));
      response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
    });
  });
  server.on("connection", (socket) => behaviour === "gone" && socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    headers,
    requests: () => requests,
    behave(how) {
      behaviour = how;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
