/** An answer that was put together as JSON, and need not be walked to be written. All its text is ASCII. */
export class RenderedJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
