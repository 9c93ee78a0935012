import { connect, type Socket } from "node:net";

export interface HttpAnswer {
  /** Status line and header fields, without the empty line. */
  head: string;
  body: string;
}

const END_OF_HEAD = "\r\n\r\n";
const LENGTH = /\r\ncontent-length: (\d+)/i;

/** Written by uWebSockets.js into every answer, ours and the raw server's. */
const WRITTEN_BY_UWS: ReadonlySet<string> = new Set(["date", "content-length", "uwebsockets"]);

/**
 * One keep-alive connection that sends a request, waits for its answer and repeats; never two at once. Supports bodies
 * with `Content-Length` alone: for servers of our own.
 */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #onAnswer: (answer: HttpAnswer) => void;
  #pending = "";

  /** @param onEnd called once, for an error or when the server closes the connection. */
  constructor(port: number, onAnswer: (answer: HttpAnswer) => void, onEnd: (error: Error) => void) {
    this.#onAnswer = onAnswer;
    this.#socket = connect({ host: "127.0.0.1", port, noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (chunk: string) => this.#read(chunk));
    this.#socket.on("error", onEnd);
    this.#socket.on("end", () => onEnd(new Error("the server hung up")));
  }

  send(request: string): void {
    this.#socket.write(request, "latin1");
  }

  close(): void {
    this.#socket.removeAllListeners("end");
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    const text = this.#pending + chunk;
    const headEnd = text.indexOf(END_OF_HEAD);
    const bodyAt = headEnd + END_OF_HEAD.length;
    const head = headEnd === -1 ? "" : text.slice(0, headEnd);
    const length = Number(LENGTH.exec(head)?.[1] ?? Number.NaN);
    if (headEnd === -1 || text.length < bodyAt + length) {
      this.#pending = text;
      return;
    }
    this.#pending = text.slice(bodyAt + length);
    this.#onAnswer({ head, body: text.slice(bodyAt, bodyAt + length) });
  }
}

/** One request on a connection of its own. Rejects when there is no answer. */
export function askOnce(port: number, request: string): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const connection = new HttpConnection(
      port,
      (answer) => {
        connection.close();
        resolve(answer);
      },
      reject,
    );
    connection.send(request);
  });
}

export function getRequest(path: string, key: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}

/** Header fields of an answer that its server, and not uWebSockets.js, wrote. */
export function ownFields({ head }: HttpAnswer): [string, string][] {
  return head
    .split("\r\n")
    .slice(1)
    .map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    })
    .filter(([name]) => !WRITTEN_BY_UWS.has(name.toLowerCase()));
}
