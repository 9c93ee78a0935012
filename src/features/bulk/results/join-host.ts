import type { MessagePort } from "node:worker_threads";
import type { ByteRange } from "../../../stores/objects/object-reads.ts";
import type { ObjectRef } from "../../../stores/objects/object-streams.ts";
import { type Control, createControl } from "../run/control.ts";
import { type PackedError, packError, unpackError } from "../run/packed-errors.ts";
import type { ChunkOfResults } from "../schedule/job-tasks.ts";
import type { JoinRequest, JoinResponse, JoinTask, MessageToJoin } from "./join-messages.ts";
import { type WriteResultsDeps, writeResults } from "./write-results.ts";

export type JoinHostDeps = Omit<WriteResultsDeps, "chunksOf" | "granted">;

/** The main thread, as a join sees it, as long as the join is wanted. */
function createMainThreadClient(port: MessagePort, control: Control) {
  const waiting = new Map<number, { resolve(answer: JoinResponse): void; reject(error: Error): void }>();
  let questions = 0;
  port.on("message", (message: MessageToJoin) => {
    if (message.type === "cancel") return control.cancel();
    const asked = waiting.get(message.question);
    if (message.type === "answer") asked?.resolve(message.answer);
    else asked?.reject(unpackError(message.error));
  });
  // As of a join that was dropped before it was begun here.
  port.on("close", () => control.cancel());
  control.onCancel(() => {
    for (const { reject } of waiting.values()) reject(control.signal.reason as Error);
  });

  function request(question: number, message: JoinRequest): Promise<JoinResponse> {
    control.signal.throwIfAborted();
    const answer = new Promise<JoinResponse>((resolve, reject) => waiting.set(question, { resolve, reject }));
    port.postMessage(message);
    return answer.finally(() => waiting.delete(question));
  }

  return {
    async chunksOf(_jobId: string, after: number, limit: number) {
      const question = questions++;
      return (await request(question, { question, of: "chunks", after, limit })) as ChunkOfResults[];
    },
    async granted(teamId: string, place: { bucket: string; key: string }) {
      const question = questions++;
      return (await request(question, { question, of: "granted", teamId, place })) as boolean;
    },
    async readRange(ref: ObjectRef, range: ByteRange) {
      const question = questions++;
      const bytes = (await request(question, { question, of: "range", ref, range })) as Uint8Array;
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    },
  };
}

/** The thread's side of joins. @returns runs one, and tells how it ended; never rejects */
export function createJoinHost(parts: JoinHostDeps): (task: JoinTask) => Promise<PackedError | null> {
  return async ({ material, key, port }) => {
    const control = createControl();
    const { chunksOf, granted, readRange } = createMainThreadClient(port, control);
    const streams: JoinHostDeps["streams"] = {
      ...parts.streams,
      readRange: (...asked) =>
        asked[0].bucket === null ? parts.streams.readRange(...asked) : readRange(asked[0], asked[1]),
    };
    try {
      await writeResults({ ...parts, chunksOf, granted, streams }, material, key, control.signal);
      return null;
    } catch (error) {
      return packError(error);
    }
  };
}
