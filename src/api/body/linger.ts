import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { HttpReply } from "../reply/reply.ts";
import { type HeadWriter, type WriteOptions, writeHead } from "../reply/respond.ts";
import { toWireText } from "../request/wire-text.ts";
import type { IncomingBody } from "./incoming-body.ts";

/** uWebSockets.js' response, by what a lingering answer needs of it. */
export interface LingeringWriter extends HeadWriter {
  write(chunk: string | Uint8Array): unknown;
  cork(write: () => void): unknown;
  pause(): unknown;
  end(): unknown;
}

/**
 * Answers a request whose body still comes. A connection that is closed with bytes unread is reset, which may take the
 * answer from the client before it was read; one that is read on takes in whatever is sent, however much. So the answer
 * is sent at once, without its last chunk, and what comes is dropped for a while, in which a client that listens stops
 * sending. When the body has come the answer ends, and a connection whose client said that this takes little serves on.
 * Else the answer ends after the while, and nothing is read any more: uWebSockets.js closes the connection as an idle one.
 *
 * The answer must not end before the body: of what comes after that uWebSockets.js takes its idle timeout away for good.
 *
 * @param done called once when the response is dead
 * @returns how to stop when the client has gone
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
    // It was answered: that the client has heard enough is no failure.
    done();
  };
}
