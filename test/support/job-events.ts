import assert from "node:assert/strict";
import type { BulkJob } from "../../src/features/bulk/jobs/job-view.ts";
import type { TestApi } from "./service.ts";

export interface ReceivedEvent {
  event: string;
  id: string;
  job: BulkJob;
}

/** A client that follows a job's events. */
export interface Follower {
  status: number;
  received: ReceivedEvent[];
  /** Resolves when the response has ended completely; rejects when the connection broke. */
  ended: Promise<void>;
  leave(): void;
}

/** The fields of an event, as the specification of server-sent events has them; null: a comment. */
function parseEvent(block: string): ReceivedEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get("data");
  if (data === undefined) return null;
  return { event: fields.get("event") ?? "", id: fields.get("id") ?? "", job: JSON.parse(data) };
}

async function listen(response: globalThis.Response, received: ReceivedEvent[]): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const event of blocks.map(parseEvent)) if (event !== null) received.push(event);
  }
}

/** Follows a job as an EventSource does. */
export async function followJob(
  api: TestApi,
  key: string,
  id: string,
  lastEventId?: string,
): Promise<Follower> {
  const control = new AbortController();
  const response = await fetch(`${api.url}/v1/bulk-jobs/${id}/events`, {
    headers: {
      Authorization: `Bearer ${key}`,
      ...(lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId }),
    },
    signal: control.signal,
  });
  const received: ReceivedEvent[] = [];
  if (response.status === 200)
    assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
  const ended = listen(response, received);
  ended.catch(() => undefined);
  return { status: response.status, received, ended, leave: () => control.abort() };
}
