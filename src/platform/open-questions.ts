/** Questions to another thread that have no answer yet. */
export class OpenQuestions<Answer> {
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #nextId = 0;

  /** @param post sends the question with its id */
  ask(post: (id: number) => void): Promise<Answer> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      post(id);
    });
  }

  answer(id: number, answer: Answer): void {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }
}
