import { answerParent } from "../child.ts";
import { getRequest, type HttpAnswer, HttpConnection } from "../http-connection.ts";

let requests: string[] = [];

const isRight = ({ head, body }: HttpAnswer, marks: readonly string[]) =>
  head.startsWith("HTTP/1.1 200 ") && marks.every((mark) => body.includes(mark));

interface Load {
  port: number;
  connections: number;
  forMs: number;
  /** What each body must hold. */
  marks: string[];
}

/** Closed loop: each connection asks again as soon as it is answered, until the time is up. */
function load({ port, connections, forMs, marks }: Load) {
  return new Promise<{ answered: number; wrong: number; wallMs: number }>((resolve, reject) => {
    const startedMs = performance.now();
    let answered = 0;
    let wrong = 0;
    let next = 0;
    let open = connections;
    const take = () => requests[next++ % requests.length] ?? "";
    for (let i = 0; i < connections; i++) {
      const connection = new HttpConnection(
        port,
        (answer) => {
          answered++;
          if (!isRight(answer, marks)) wrong++;
          if (performance.now() - startedMs < forMs) return connection.send(take());
          connection.close();
          if (--open === 0) resolve({ answered, wrong, wallMs: performance.now() - startedMs });
        },
        reject,
      );
      connection.send(take());
    }
  });
}

const verbs = {
  /** Requests for each of `paths`, by one of `keys` after the other. */
  prepare({ paths, keys, count }: { paths: string[]; keys: string[]; count: number }) {
    requests = Array.from({ length: count }, (_, i) =>
      getRequest(paths[i % paths.length] ?? "", keys[i % keys.length] ?? ""),
    );
  },

  load,
};

export type LoadGenerator = typeof verbs;

answerParent(verbs, async () => {});
