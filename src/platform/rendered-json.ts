/** An answer that was put together as JSON, and need not be walked to be written. */
export class RenderedJson {
  /** Text is ASCII alone; bytes are UTF-8. */
  readonly body: string | Uint8Array;

  constructor(body: string | Uint8Array) {
    this.body = body;
  }
}
