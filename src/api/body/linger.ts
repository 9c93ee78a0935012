import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { HttpReply } from "../reply/reply.ts";
import { type HeadWriter, type WriteOptions, writeHead } from "../reply/respond.ts";
import { toWireText } from "../request/wire-text.ts";
import type { IncomingBody } from "./incoming-body.ts";

/** The methods of uWebSockets.js' response that a lingering answer needs. */
export interface LingeringWriter extends HeadWriter {
  write(chunk: string | Uint8Array): unknown;
  cork(write: () => void): unknown;
  pause(): unknown;
  end(): unknown;
}

/**
 * Answers a request whose body is still arriving. Closing a connection with unread bytes resets it, and the client may lose
 * the answer. Reading on takes any amount of bytes. So the answer is sent at once, without its last chunk, and the body is
 * dropped for a while: a client that reads the answer stops sending.
 *
 * If the body ends in time, so does the answer. The connection then stays open if the announced body was short. Else the
 * answer ends after that time, and reading stops: uWebSockets.js closes the connection as an idle one.
 *
 * The answer must not end before the body: uWebSockets.js would then never again apply its idle timeout to the connection.
 * @param done called once when the response is dead
 * @returns a function to call when the client has disconnected
 */
export function answerEarly(
  response: LingeringWriter,
  reply: HttpReply & { body: string | Uint8Array },
  options: WriteOptions,
  { body, clock, done }: { body: IncomingBody; clock: Clock; done: () => void },
): () => void {
  writeHead(response, reply, options);
  const isShort = body.declaredBytes !== null && body.declaredBytes <= LIMITS.http.bodies.droppedBytes;
  // Written as a header: `end` with its close argument would write the field into the body.
  if (options.close || options.mustClose || !isShort) response.writeHeader("Connection", "close");
  response.write(toWireText(reply.body));
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    late.cancel();
    if (body.mayBringMore) response.pause();
    response.cork(() => response.end());
    done();
  };
  const late = clock.after(LIMITS.http.incoming.lingerMs, end);
  body.discard(end);
  return () => {
    if (over) return;
    over = true;
    late.cancel();
    // It was answered: a client that disconnects then is not a failure.
    done();
  };
}
