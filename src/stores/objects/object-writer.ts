import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { createWriteRequests, type WriteRequests } from "./object-write-requests.ts";
import type { ObjectStore } from "./objects.ts";

export interface StoredObject {
  bytes: number;
  /** As object storage wrote it, quotes included. */
  etag: string;
}

/**
 * Writes one object piece by piece, whole or not at all. One call at a time. After a failed call all later ones fail alike,
 * and the written parts are removed.
 */
export interface ObjectWriter {
  /**
   * Takes the bytes, which the caller may reuse when it resolves: at once while there is room, else when object storage has
   * taken enough earlier bytes.
   * @throws ObjectsOutage; the reason of the cancellation; Error when the object would have too many parts
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when the object is stored. @throws as `write` */
  end(): Promise<StoredObject>;
  /** Gives up and removes the written parts. Idempotent, without effect on a finished object; never rejects. */
  abort(): Promise<void>;
}

export interface WriteTarget {
  key: string;
  contentType: string;
  /** Size of one part. */
  partBytes: number;
  /** Number of parts held. */
  partsInFlight: number;
}

type Buffers = ReturnType<typeof createBuffers>;

/** A fixed number of buffers of one size, used again and again. */
function createBuffers(count: number, bytes: number) {
  const free: Buffer[] = [];
  const waiting: ((buffer: Buffer) => void)[] = [];
  let made = 0;
  return {
    /** Waits while all are in use. */
    take(): Promise<Buffer> | Buffer {
      const buffer = free.pop();
      if (buffer !== undefined) return buffer;
      if (made < count) {
        made++;
        return Buffer.allocUnsafeSlow(bytes);
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    give(buffer: Buffer): void {
      const next = waiting.shift();
      if (next) next(buffer);
      else free.push(buffer);
    },
  };
}

class PartsWriter implements ObjectWriter {
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #requests: WriteRequests;
  readonly #buffers: Buffers;
  readonly #etags: string[] = [];
  readonly #sending = new Set<Promise<void>>();
  #upload: Promise<string> | null = null;
  #filling: Buffer | null = null;
  #filled = 0;
  #bytes = 0;
  #done = false;
  #aborting: Promise<void> | null = null;

  constructor(store: ObjectStore, clock: Clock, target: WriteTarget, cancelled?: AbortSignal) {
    const { signal } = this.#stop;
    this.#signal = cancelled === undefined ? signal : AbortSignal.any([signal, cancelled]);
    this.#requests = createWriteRequests(store, clock, target, this.#signal);
    this.#buffers = createBuffers(target.partsInFlight, target.partBytes);
  }

  write(pieces: Uint8Array): Promise<void> {
    return this.#orAbort(this.#take(pieces));
  }

  async end(): Promise<StoredObject> {
    const stored = await this.#orAbort(this.#finish());
    this.#done = true;
    return stored;
  }

  async abort(): Promise<void> {
    if (!this.#done) this.#aborting ??= this.#abort();
    await this.#aborting;
  }

  async #take(pieces: Uint8Array): Promise<void> {
    for (let at = 0; at < pieces.length; ) {
      this.#signal.throwIfAborted();
      if (this.#filling !== null && this.#filled === this.#filling.length) this.#flush();
      this.#filling ??= await this.#buffers.take();
      this.#signal.throwIfAborted();
      const piece = pieces.subarray(at, at + this.#filling.length - this.#filled);
      this.#filling.set(piece, this.#filled);
      this.#filled += piece.length;
      this.#bytes += piece.length;
      at += piece.length;
    }
  }

  /** Sends the filled buffer, which is free again once it is sent. */
  #flush(): void {
    const buffer = this.#filling;
    if (buffer === null) return;
    const number = this.#etags.push("");
    if (number > LIMITS.objects.parts) throw new Error("the object has too many parts");
    const content = buffer.subarray(0, this.#filled);
    this.#filling = null;
    this.#filled = 0;
    this.#upload ??= this.#requests.begin();
    const sent = this.#upload
      .then((id) => this.#requests.part(id, number, content))
      .then((etag) => {
        this.#etags[number - 1] = etag;
      })
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#buffers.give(buffer);
        this.#sending.delete(sent);
      });
    this.#sending.add(sent);
  }

  async #finish(): Promise<StoredObject> {
    this.#signal.throwIfAborted();
    if (this.#upload === null) {
      const etag = await this.#requests.put(this.#filling?.subarray(0, this.#filled) ?? new Uint8Array(0));
      return { bytes: this.#bytes, etag };
    }
    this.#flush();
    await Promise.all(this.#sending);
    this.#signal.throwIfAborted();
    const id = await this.#upload;
    return { bytes: this.#bytes, etag: await this.#requests.complete(id, this.#etags, this.#bytes) };
  }

  async #orAbort<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const reason: unknown = this.#signal.aborted ? this.#signal.reason : error;
      this.#aborting ??= this.#abort();
      await this.#aborting;
      throw reason;
    }
  }

  async #abort(): Promise<void> {
    this.#fail(new Error("writing the object was aborted"));
    await Promise.all(this.#sending);
    const id = await this.#upload?.catch(() => undefined);
    if (id !== undefined) await this.#requests.remove(id);
  }

  #fail(error: unknown): void {
    if (!this.#signal.aborted) this.#stop.abort(error);
  }
}

export function createObjectWriter(
  store: ObjectStore,
  clock: Clock,
  target: WriteTarget,
  cancelled?: AbortSignal,
): ObjectWriter {
  return new PartsWriter(store, clock, target, cancelled);
}
