import type { StreamWriter } from "../../src/api/body/stream-body.ts";

/** Bytes of a corked response that uWebSockets.js buffers before it writes. */
const GATHERED_BYTES = 16_384;

/**
 * A chunked response of uWebSockets.js before April 2026, as far as back-pressure goes. Bytes that the connection does
 * not take are buffered; a write behind them that did not fit the cork buffer is **dropped**.
 */
export class UwsConnection implements StreamWriter {
  /** Bytes that the kernel holds for the client. */
  #sent: Buffer[] = [];
  #free: number;
  #gathered: Buffer[] | null = null;
  #kept = Buffer.alloc(0);
  #drained: (offset: number) => boolean = () => true;
  #hasWritten = false;
  keptMax = 0;
  isEnded = false;

  /** @param sendBytes bytes that the kernel takes for a client that reads nothing */
  constructor(sendBytes: number) {
    this.#free = sendBytes;
  }

  cork(write: () => void): void {
    this.#gathered = [];
    write();
    this.#flush();
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#hasWritten) this.#put(Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"));
    this.#hasWritten = true;
    this.#put(Buffer.from(`\r\n${chunk.length.toString(16)}\r\n`));
    return this.#put(Buffer.from(chunk));
  }

  end(): void {
    this.#put(Buffer.from("\r\n0\r\n\r\n"));
    this.isEnded = true;
  }

  tryEnd(): [boolean, boolean] {
    throw new Error("only chunks are written here");
  }

  getWriteOffset(): number {
    return 0;
  }

  onWritable(handler: (offset: number) => boolean): void {
    this.#drained = handler;
  }

  /** The client reads up to `bytes` bytes; the connection then takes more. */
  read(bytes: number): Buffer {
    const all = Buffer.concat(this.#sent);
    const taken = all.subarray(0, bytes);
    this.#sent = [all.subarray(taken.length)];
    this.#free += taken.length;
    if (taken.length > 0) this.#drained(0);
    return taken;
  }

  /** @returns false when bytes had to be buffered behind the connection */
  #put(bytes: Buffer): boolean {
    if (this.#kept.length > 0 && !this.#sendKept()) return this.#keep(bytes);
    if (this.#gathered === null) return this.#send(bytes);
    const before = this.#gathered.reduce((sum, part) => sum + part.length, 0);
    this.#gathered.push(bytes);
    if (before + bytes.length <= GATHERED_BYTES) return true;
    this.#gathered.pop();
    return this.#flush() && this.#send(bytes);
  }

  #flush(): boolean {
    const gathered = Buffer.concat(this.#gathered ?? []);
    this.#gathered = null;
    if (this.#kept.length > 0 && !this.#sendKept()) return this.#keep(gathered);
    return this.#send(gathered);
  }

  #sendKept(): boolean {
    const kept = this.#kept;
    this.#kept = Buffer.alloc(0);
    return this.#send(kept);
  }

  #send(bytes: Buffer): boolean {
    const taken = bytes.subarray(0, this.#free);
    this.#sent.push(taken);
    this.#free -= taken.length;
    return taken.length === bytes.length || this.#keep(bytes.subarray(taken.length));
  }

  #keep(bytes: Buffer): false {
    this.#kept = Buffer.concat([this.#kept, bytes]);
    this.keptMax = Math.max(this.keptMax, this.#kept.length);
    return false;
  }
}
