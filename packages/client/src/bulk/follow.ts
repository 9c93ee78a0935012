import { malformedAnswer, RcptError } from "../http/errors.ts";
import { pause, Waits } from "../http/pause.ts";
import type { Transport } from "../http/transport.ts";
import type { components } from "../schema.d.ts";
import { piecesOf } from "../streams/pieces.ts";
import { createEventParser } from "../streams/sse.ts";

/** State of a job at one moment. */
export type JobSnapshot = components["schemas"]["BulkJob"];

/** The service sends something every 15 s. */
const SILENCE_MS = 40_000;
const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 30_000;
/** Connections without one event, until the job is read instead. */
const FRUITLESS_CONNECTIONS = 3;

export const hasEnded = ({ status }: JobSnapshot): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

/** State of a follower between two connections. */
interface Position {
  lastEventId: string;
  /** Last state seen; null before the first event. */
  last: JobSnapshot | null;
  /** Connections in a row without an event. */
  fruitless: number;
  waits: Waits;
}

/** Whether connecting again may help. */
const mayPass = ({ code, status }: RcptError) =>
  code === "network_error" ||
  code === "timeout" ||
  code === "malformed_answer" ||
  status === 429 ||
  status >= 500;

export async function readJob(transport: Transport, id: string, signal?: AbortSignal): Promise<JobSnapshot> {
  const request = { method: "GET", path: "/v1/bulk-jobs/{id}", parameters: { id }, signal };
  return (await transport.json(request)) as JobSnapshot;
}

function snapshotOf(data: string): JobSnapshot {
  try {
    return JSON.parse(data) as JobSnapshot;
  } catch (error) {
    throw malformedAnswer(error);
  }
}

/** One connection, to its end. */
async function* listen(
  transport: Transport,
  id: string,
  position: Position,
  signal: AbortSignal | undefined,
): AsyncGenerator<JobSnapshot, void> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (position.lastEventId !== "") headers["Last-Event-ID"] = position.lastEventId;
  const path = "/v1/bulk-jobs/{id}/events";
  const response = await transport.open({ method: "GET", path, parameters: { id }, headers, signal });
  const decoder = new TextDecoder();
  const parser = createEventParser();
  for await (const piece of piecesOf(response, { signal, silenceMs: SILENCE_MS }))
    for (const { data, lastEventId } of parser.feed(decoder.decode(piece, { stream: true }))) {
      const snapshot = snapshotOf(data);
      Object.assign(position, { lastEventId, fruitless: 0, last: snapshot });
      position.waits.reset();
      yield snapshot;
      if (hasEnded(snapshot)) return;
    }
}

/** Polls the job once; yields it if it has changed since the last look. */
async function* look(
  transport: Transport,
  id: string,
  position: Position,
  signal: AbortSignal | undefined,
): AsyncGenerator<JobSnapshot, void> {
  const read = await readJob(transport, id, signal);
  const isNews = JSON.stringify(read) !== JSON.stringify(position.last);
  position.last = read;
  if (isNews) yield read;
}

/**
 * Yields the job whenever it changes, until it ends, over as many connections as needed. Where events do not arrive (a
 * proxy buffers them), polls the job instead. The last snapshot is the ended job.
 * @throws RcptError that connecting again cannot fix; the reason of `signal`
 */
export async function* followJob(
  transport: Transport,
  id: string,
  signal?: AbortSignal,
): AsyncGenerator<JobSnapshot, void> {
  const waits = new Waits(FIRST_WAIT_MS, LAST_WAIT_MS);
  const position: Position = { lastEventId: "", last: null, fruitless: 0, waits };
  const patience = signal ?? new AbortController().signal;
  for (;;) {
    let leastMs = 0;
    position.fruitless += 1;
    try {
      if (position.fruitless > FRUITLESS_CONNECTIONS) yield* look(transport, id, position, signal);
      else yield* listen(transport, id, position, signal);
    } catch (error) {
      if (!(error instanceof RcptError) || signal?.aborted === true || !mayPass(error)) throw error;
      leastMs = (error.retryAfterS ?? 0) * 1_000;
    }
    if (position.last !== null && hasEnded(position.last)) return;
    await pause(waits.nextMs(leastMs), patience);
  }
}
