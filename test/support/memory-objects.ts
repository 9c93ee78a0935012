import { createHash } from "node:crypto";
import { type JobObjects, MissingObject } from "../../src/features/bulk/results/job-objects.ts";
import {
  ChangedObject,
  type ObjectRef,
  type ObjectStreams,
} from "../../src/stores/objects/object-streams.ts";

/** Object storage of jobs, in memory; whole objects and streams read the same content. */
export interface MemoryObjects extends JobObjects {
  kept: Map<string, Buffer>;
  streams: ObjectStreams;
}

function etagOf(content: Buffer): string {
  return `"${createHash("md5").update(content).digest("hex")}"`;
}

export function createMemoryObjects(): MemoryObjects {
  const kept = new Map<string, Buffer>();

  function find({ key, etag }: ObjectRef): Buffer {
    const found = kept.get(key);
    if (found === undefined) throw new MissingObject("no such object");
    if (etag !== undefined && etag !== etagOf(found)) throw new ChangedObject("the object is another one");
    return found;
  }

  function keep(key: string, parts: readonly Uint8Array[]) {
    const content = Buffer.concat(parts);
    kept.set(key, content);
    return { bytes: content.length, etag: etagOf(content) };
  }

  const streams: ObjectStreams = {
    async head(ref) {
      if (!kept.has(ref.key)) return null;
      const content = find(ref);
      return { bytes: content.length, etag: etagOf(content) };
    },
    async *openRead(ref, span = {}) {
      const from = span.firstByte ?? 0;
      yield find(ref).subarray(from, span.bytes === undefined ? undefined : from + span.bytes);
    },
    readRange: async (ref, { firstByte, bytes }) => find(ref).subarray(firstByte, firstByte + bytes),
    async write(key, body) {
      const parts: Uint8Array[] = [];
      for await (const part of body) parts.push(part);
      return keep(key, parts);
    },
    openWrite(key) {
      const parts: Uint8Array[] = [];
      return {
        async write(part) {
          parts.push(Buffer.from(part));
        },
        end: async () => keep(key, parts),
        abort: async () => undefined,
      };
    },
  };

  return {
    kept,
    streams,
    get: async (key) => find({ bucket: null, key }),
    async put(key, body) {
      kept.set(key, Buffer.from(body));
    },
    getRange: async (key, { firstByte, bytes }) =>
      find({ bucket: null, key }).subarray(firstByte, firstByte + bytes),
  };
}
