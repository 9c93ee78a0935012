import { connect, type Socket } from "node:net";

interface Expected {
  replies: number;
  resolve(codes: string[]): void;
  reject(error: Error): void;
}

/** The least that speaks SMTP: writes commands, counts replies. No time limits, no checks; for ceilings only. */
export class Dialogue {
  readonly #socket: Socket;
  #pending = "";
  #codes: string[] = [];
  #expected: Expected | null = null;
  #failure: Error | null = null;

  private constructor(address: string, port: number) {
    this.#socket = connect({ host: address, port, noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (chunk: string) => this.#read(chunk));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the server hung up")));
  }

  /** Resolves after the greeting. Rejects without one. */
  static async open(address: string, port: number): Promise<Dialogue> {
    const dialogue = new Dialogue(address, port);
    await dialogue.ask("", 1);
    return dialogue;
  }

  /** Writes `text` and resolves to the codes of the next `replies` replies. One call at a time. */
  ask(text: string, replies: number): Promise<string[]> {
    return new Promise((resolve, reject) => {
      if (this.#failure) {
        reject(this.#failure);
        return;
      }
      this.#expected = { replies, resolve, reject };
      if (text !== "") this.#socket.write(text, "latin1");
    });
  }

  /** Resolves when the connection is closed. */
  async quit(): Promise<void> {
    await this.ask("QUIT\r\n", 1);
    await new Promise<void>((resolve) => {
      if (this.#socket.closed) resolve();
      else this.#socket.once("close", () => resolve());
      this.#socket.end();
    });
  }

  #read(chunk: string): void {
    const lines = (this.#pending + chunk).split("\r\n");
    this.#pending = lines.pop() ?? "";
    // "250-" goes on, "250 " ends a reply.
    for (const line of lines) if (line[3] === " ") this.#codes.push(line.slice(0, 3));
    const expected = this.#expected;
    if (expected === null || this.#codes.length < expected.replies) return;
    this.#expected = null;
    const codes = this.#codes;
    this.#codes = [];
    expected.resolve(codes);
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#expected?.reject(error);
    this.#expected = null;
  }
}
