/** An answer already rendered as JSON, which needs no serialisation. All its text is ASCII. */
export class RenderedJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
