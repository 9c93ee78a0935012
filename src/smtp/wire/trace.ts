import {
  type Closure,
  type Connection,
  type ConnectionHandler,
  type ConnectionTarget,
  createConnection,
} from "./connection.ts";

/** An event on a connection to a mail server, for people to read. */
export interface SmtpTraceEvent {
  /** Number of the connection in its thread, from 1. */
  connection: number;
  kind: "dialled" | "connected" | "sent" | "received" | "secured" | "closed";
  /**
   * A command or a line of a reply as sent, without its line end: it may contain any bytes. For other events, our own
   * words.
   */
  text: string;
}

/** A line without an end is reported in pieces of this many bytes. */
const LINE_BYTES = 4_096;

/** Cuts the server's bytes into lines. */
class ReceivedLines {
  #rest = Buffer.alloc(0);
  readonly #onLine: (line: string) => void;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let rest = Buffer.concat([this.#rest, chunk]);
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      this.#report(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
    this.#rest = rest;
    if (rest.length >= LINE_BYTES) this.flush();
  }

  flush(): void {
    if (this.#rest.length > 0) this.#report(this.#rest);
    this.#rest = Buffer.alloc(0);
  }

  #report(line: Buffer): void {
    this.#onLine(line.toString("utf8").replace(/\r$/, ""));
  }
}

type Report = (kind: SmtpTraceEvent["kind"], text: string) => void;

/** Reports the traffic of a connection, and changes nothing. */
class TracedConnection implements Connection {
  readonly #connection: Connection;
  readonly #report: Report;
  readonly #received = new ReceivedLines((line) => this.#report("received", line));
  #isOver = false;

  constructor(target: ConnectionTarget, handler: ConnectionHandler, report: Report) {
    this.#report = report;
    const { host, address, port, proxy } = target;
    report("dialled", `${host} [${address}] port ${port}${proxy === null ? "" : " by a proxy"}`);
    this.#connection = createConnection(target, {
      onConnect: () => {
        report("connected", "connected");
        handler.onConnect();
      },
      onData: (chunk, bytes) => {
        this.#received.push(chunk.subarray(0, bytes));
        handler.onData(chunk, bytes);
      },
      onSecure: () => {
        report("secured", "TLS");
        handler.onSecure();
      },
      onClose: (closure) => {
        this.#over(reasonOf(closure));
        handler.onClose(closure);
      },
    });
  }

  get isAwaitingProxy(): boolean {
    return this.#connection.isAwaitingProxy;
  }

  write(text: string, encoding: "latin1" | "utf8"): void {
    for (const line of text.split("\r\n")) if (line !== "") this.#report("sent", line);
    this.#connection.write(text, encoding);
  }

  startTls(): void {
    this.#connection.startTls();
  }

  end(): void {
    this.#connection.end();
  }

  destroy(): void {
    this.#over("closed by us");
    this.#connection.destroy();
  }

  #over(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#received.flush();
    this.#report("closed", reason);
  }
}

const reasonOf = ({ cause, detail }: Closure) => (cause === "closed" ? detail : `${cause}: ${detail}`);

/** Connections as `createConnection` makes them, reported to `onEvent`. */
export function createTracedDial(onEvent: (event: SmtpTraceEvent) => void): typeof createConnection {
  let count = 0;
  return (target, handler) => {
    const connection = ++count;
    return new TracedConnection(target, handler, (kind, text) => onEvent({ connection, kind, text }));
  };
}
