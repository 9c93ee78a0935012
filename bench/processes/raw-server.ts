import uWS, { type HttpResponse, type TemplatedApp, type us_listen_socket } from "uWebSockets.js";
import { usageNow } from "../cpu/busy.ts";
import { answerParent } from "../setup/child.ts";

let app: TemplatedApp | null = null;

/** `fields` of the header, `[name, value]`, those aside that uWebSockets.js writes itself. */
export interface RawAnswer {
  fields: [string, string][];
  body: string;
}

/** `bytes`: made before, all fields with the status; `strings`: a call for each field, as most write it. */
export type RawForm = "bytes" | "strings";

type Handler = (response: HttpResponse) => void;

/** Gives `items` one after the other, and again from the first on. */
function byTurns<T>(items: readonly T[]): () => T {
  let next = 0;
  return () => {
    const item = items[next] as T;
    next = next + 1 === items.length ? 0 : next + 1;
    return item;
  };
}

interface BytesOfAnswer {
  head: Uint8Array;
  bytes: Uint8Array;
}

function bytesOf({ fields, body }: RawAnswer): BytesOfAnswer {
  const head = `200 OK${fields.map(([name, value]) => `\r\n${name}: ${value}`).join("")}`;
  return { head: Buffer.from(head), bytes: Buffer.from(body) };
}

/** The cheapest handler: always the same answer. */
function sendingOne({ head, bytes }: BytesOfAnswer): Handler {
  return (response) => {
    response.writeStatus(head);
    response.end(bytes);
  };
}

function sendingBytes(answers: readonly RawAnswer[]): Handler {
  const [first, ...others] = answers.map(bytesOf);
  if (first === undefined) throw new Error("nothing to send");
  if (others.length === 0) return sendingOne(first);
  const take = byTurns([first, ...others]);
  return (response) => {
    const { head, bytes } = take();
    response.writeStatus(head);
    response.end(bytes);
  };
}

function sendingStrings(answers: readonly RawAnswer[]): Handler {
  const take = byTurns(answers);
  return (response) => {
    const { fields, body } = take();
    for (const [name, value] of fields) response.writeHeader(name, value);
    response.end(body);
  };
}

const verbs = {
  /** A server that only sends `answers` in turn, whatever the request. */
  start({ answers, form }: { answers: RawAnswer[]; form: RawForm }) {
    const native = uWS.App();
    native.any("/*", form === "bytes" ? sendingBytes(answers) : sendingStrings(answers));
    app = native;
    return new Promise<{ port: number; pid: number }>((resolve, reject) => {
      native.listen("127.0.0.1", 0, (socket: us_listen_socket | false) => {
        if (socket) resolve({ port: uWS.us_socket_local_port(socket), pid: process.pid });
        else reject(new Error("cannot listen"));
      });
    });
  },

  usage: usageNow,
};

export type RawServer = typeof verbs;

answerParent(verbs, async () => {
  app?.close();
});
