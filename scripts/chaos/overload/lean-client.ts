import { once } from "node:events";
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
 * Keep-alive connections that carry one request each at a time and are open before there are any: a twentieth of what
 * node:http costs, so that the process is the one that is busy. What finds no connection waits for one, as
 * in any client's pool. Reads bodies by their `Content-Length` and nothing else.
 */
export interface LeanClient {
  /** Opens them, some at a time. @throws Error where one cannot be opened */
  open(): Promise<void>;
  /** As soon as there is a connection. Before `open` has ended there is none. */
  send(request: string, answered: (outcome: Outcome) => void): void;
  /** Gives up what is older, waiting or sent. */
  sweep(timeoutMs: number): void;
  close(): void;
}

interface Asked {
  request: string;
  answered: (outcome: Outcome) => void;
  askedMs: number;
}

class Connection {
  readonly #socket: Socket;
  readonly #freed: (connection: Connection) => void;
  #asked: Asked | null = null;
  #text = "";

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

  async connected(): Promise<void> {
    await once(this.#socket, "connect");
  }

  send(asked: Asked): void {
    this.#asked = asked;
    this.#socket.write(asked.request, "latin1");
  }

  isOlder(beforeMs: number): boolean {
    return this.#asked !== null && this.#asked.askedMs < beforeMs;
  }

  destroy(why: string): void {
    this.#end(why);
    this.#socket.destroy();
  }

  #end(why: string): void {
    this.#tell({ status: 0, body: why });
  }

  #tell(outcome: Outcome): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.answered(outcome);
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

/** Opened at once, so that nobody's queue of new connections is what is measured. */
const TOGETHER = 32;

export function createLeanClient(port: number, connections: number): LeanClient {
  const all = new Set<Connection>();
  /** The last one first: few stay in use where few are needed. */
  const idle: Connection[] = [];
  /** Since which of them nobody waits any more is known by `first`: to shift a long line costs more than to ask. */
  let line: Asked[] = [];
  let first = 0;

  function next(): Asked | null {
    const asked = line[first];
    if (asked === undefined) {
      line = [];
      first = 0;
      return null;
    }
    first += 1;
    return asked;
  }

  function freed(connection: Connection): void {
    const asked = next();
    if (asked === null) idle.push(connection);
    else connection.send(asked);
  }

  function begin(): Connection {
    const begun = new Connection(port, freed, (connection) => {
      all.delete(connection);
      const at = idle.indexOf(connection);
      if (at !== -1) idle.splice(at, 1);
    });
    all.add(begun);
    return begun;
  }

  return {
    async open() {
      while (all.size < connections) {
        const begun = Array.from({ length: Math.min(TOGETHER, connections - all.size) }, begin);
        await Promise.all(begun.map((connection) => connection.connected()));
        idle.push(...begun);
      }
    },
    send(request, answered) {
      const asked = { request, answered, askedMs: performance.now() };
      // One that the server has closed is opened anew, by whoever needs it.
      const connection = idle.pop() ?? (all.size < connections ? begin() : null);
      if (connection === null) line.push(asked);
      else connection.send(asked);
    },
    sweep(timeoutMs) {
      const beforeMs = performance.now() - timeoutMs;
      for (const connection of all) if (connection.isOlder(beforeMs)) connection.destroy("timeout");
      for (let asked = line[first]; asked !== undefined && asked.askedMs < beforeMs; asked = line[first]) {
        first += 1;
        asked.answered({ status: 0, body: "timeout" });
      }
    },
    close() {
      for (const connection of all) connection.destroy("closed");
    },
  };
}
