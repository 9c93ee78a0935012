import { connect, type Socket } from "node:net";

/** What became of a request: an answer, or how there was none. */
export interface Outcome {
  /** 0: there was no answer. */
  status: number;
  /** Or, without an answer, the cause. */
  body: string;
}

const END_OF_HEAD = "\r\n\r\n";
const LENGTH = /\r\ncontent-length: (\d+)/i;
const STATUS_AT = "HTTP/1.1 ".length;

/**
 * Keep-alive connections that carry one request each at a time and are opened as they are needed: a twentieth of what
 * node:http costs, so that who asks ten times too often is not itself what is overloaded. Reads bodies by their
 * `Content-Length` and nothing else.
 */
export interface LeanClient {
  /** @returns false: every connection is in use, and nothing was sent */
  send(request: string, answered: (outcome: Outcome) => void): boolean;
  /** Gives up what is older. */
  sweep(timeoutMs: number): void;
  close(): void;
}

class Connection {
  readonly #socket: Socket;
  readonly #freed: (connection: Connection) => void;
  #answered: ((outcome: Outcome) => void) | null = null;
  #text = "";
  sentMs = 0;

  constructor(port: number, freed: (connection: Connection) => void, gone: (connection: Connection) => void) {
    this.#freed = freed;
    this.#socket = connect({ host: "127.0.0.1", port, noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (chunk: string) => this.#read(chunk));
    this.#socket.on("error", (error: NodeJS.ErrnoException) => this.#end(error.code ?? error.message));
    this.#socket.on("close", () => {
      this.#end("cut");
      gone(this);
    });
  }

  send(request: string, answered: (outcome: Outcome) => void): void {
    this.#answered = answered;
    this.sentMs = performance.now();
    this.#socket.write(request, "latin1");
  }

  get isBusy(): boolean {
    return this.#answered !== null;
  }

  destroy(why: string): void {
    this.#end(why);
    this.#socket.destroy();
  }

  #end(why: string): void {
    this.#tell({ status: 0, body: why });
  }

  #tell(outcome: Outcome): void {
    const answered = this.#answered;
    this.#answered = null;
    answered?.(outcome);
  }

  #read(chunk: string): void {
    const text = this.#text + chunk;
    const headEnd = text.indexOf(END_OF_HEAD);
    const bodyAt = headEnd + END_OF_HEAD.length;
    const length = headEnd === -1 ? 0 : Number(LENGTH.exec(text.slice(0, headEnd + 2))?.[1] ?? 0);
    if (headEnd === -1 || text.length < bodyAt + length) {
      this.#text = text;
      return;
    }
    this.#text = text.slice(bodyAt + length);
    this.#tell({
      status: Number(text.slice(STATUS_AT, STATUS_AT + 3)),
      body: text.slice(bodyAt, bodyAt + length),
    });
    this.#freed(this);
  }
}

export function createLeanClient(port: number, connections: number): LeanClient {
  const all = new Set<Connection>();
  /** The last one first: few stay in use where few are needed. */
  const idle: Connection[] = [];

  function open(): Connection | null {
    if (all.size >= connections) return null;
    const opened = new Connection(
      port,
      (connection) => idle.push(connection),
      (connection) => {
        all.delete(connection);
        const at = idle.indexOf(connection);
        if (at !== -1) idle.splice(at, 1);
      },
    );
    all.add(opened);
    return opened;
  }

  return {
    send(request, answered) {
      const connection = idle.pop() ?? open();
      connection?.send(request, answered);
      return connection !== null;
    },
    sweep(timeoutMs) {
      const beforeMs = performance.now() - timeoutMs;
      for (const connection of all)
        if (connection.isBusy && connection.sentMs < beforeMs) connection.destroy("timeout");
    },
    close() {
      for (const connection of all) connection.destroy("closed");
    },
  };
}
