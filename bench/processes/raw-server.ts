import uWS, { type TemplatedApp, type us_listen_socket } from "uWebSockets.js";
import { usageNow } from "../busy.ts";
import { answerParent } from "../child.ts";

let app: TemplatedApp | null = null;

const verbs = {
  /**
   * A server that does nothing but send `body` with `fields`, whatever it is asked.
   * @param fields of the header, `[name, value]`, those aside that uWebSockets.js writes itself
   */
  start({ fields, body }: { fields: [string, string][]; body: string }) {
    const native = uWS.App();
    // As bytes, all fields with the status: the cheapest way that there is.
    const head = Buffer.from(`200 OK${fields.map(([name, value]) => `\r\n${name}: ${value}`).join("")}`);
    const bytes = Buffer.from(body);
    native.any("/*", (response) => {
      response.writeStatus(head);
      response.end(bytes);
    });
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
