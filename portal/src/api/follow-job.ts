import { createParser } from "eventsource-parser";
import type { BulkJob } from "../words/jobs.ts";
import { api, Problem } from "./client.ts";
import { pause } from "./pause.ts";
import { mayPassLater } from "./retry.ts";

/** Between two attempts to connect: the first wait, which doubles up to the last. */
const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 30_000;
/** The service sends something every 15 s: a connection that is silent for longer leads nowhere. */
const SILENCE_MS = 40_000;

interface JobListener {
  onJob(job: BulkJob): void;
  /** The connection has broken off; the next attempt is made by itself. */
  onLost(): void;
}

/** State of a follower between two connections. */
interface Position {
  lastEventId: string;
  waitMs: number;
}

/** The session has ended. Its person may sign in again meanwhile. */
const isSignedOut = (error: unknown) => error instanceof Problem && error.code === "unauthorized";

/** Reads one connection to its end. @returns whether the job has ended, too */
async function listen(
  body: ReadableStream<Uint8Array>,
  position: Position,
  { onJob }: JobListener,
  onSign: () => void,
): Promise<boolean> {
  let hasEnded = false;
  const parser = createParser({
    onEvent({ id, event, data }) {
      position.waitMs = FIRST_WAIT_MS;
      if (id !== undefined) position.lastEventId = id;
      hasEnded ||= event === "end";
      onJob(JSON.parse(data) as BulkJob);
    },
  });
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return hasEnded;
    onSign();
    parser.feed(value);
  }
}

/** Connects once. @returns whether the job has ended */
async function connect(
  id: string,
  position: Position,
  listener: JobListener,
  signal: AbortSignal,
): Promise<boolean> {
  const silence = new AbortController();
  const over = new AbortController();
  let timer = 0;
  const onSign = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => silence.abort(), SILENCE_MS);
  };
  onSign();
  window.addEventListener("offline", () => silence.abort(), { signal: over.signal });
  try {
    const { data, response } = await api.GET("/v1/bulk-jobs/{id}/events", {
      params: { path: { id } },
      headers: position.lastEventId === "" ? {} : { "Last-Event-ID": position.lastEventId },
      parseAs: "stream",
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (response.status === 204) return true;
    return data instanceof ReadableStream && (await listen(data, position, listener, onSign));
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/**
 * Follows a job by its server-sent events until it has ended, through any number of connections.
 * @throws Problem that a retry does not solve; the reason of `signal`
 */
export async function followJob(id: string, listener: JobListener, signal: AbortSignal): Promise<void> {
  const position: Position = { lastEventId: "", waitMs: FIRST_WAIT_MS };
  for (;;) {
    let leastMs = 0;
    // A session that has ended is told by the page itself.
    let isLost = true;
    try {
      if (await connect(id, position, listener, signal)) return;
    } catch (error) {
      isLost = !isSignedOut(error);
      if (signal.aborted || (isLost && !mayPassLater(error))) throw error;
      if (error instanceof Problem) leastMs = (error.retryAfterS ?? 0) * 1_000;
    }
    if (isLost) listener.onLost();
    await pause(Math.max(leastMs, position.waitMs), signal);
    position.waitMs = Math.min(position.waitMs * 2, LAST_WAIT_MS);
  }
}
