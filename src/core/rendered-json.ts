/** An answer that was put together as JSON, and need not be walked to be written. */
export class RenderedJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
