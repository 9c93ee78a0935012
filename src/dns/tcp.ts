import { connect } from "node:net";
import type { Clock } from "../platform/time/clock.ts";
import { type DnsExchange, remainingAttemptMs } from "./exchange.ts";
import { type DnsQuestion, decodeResponse, encodeQuery, responseId } from "./message.ts";
import { randomId } from "./random.ts";
import type { ServerAddress } from "./server-address.ts";

const LENGTH_BYTES = 2;

export interface TcpQuery {
  result: Promise<DnsExchange>;
  abort(): void;
}

function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
  frame.writeUInt16BE(message.length);
  message.copy(frame, LENGTH_BYTES);
  return frame;
}

/**
 * One query on a connection of its own (RFC 7766), within `LIMITS.dns.attemptTimeoutMs`, and not after `untilMs`. Never
 * rejects.
 */
export function askOverTcp(
  server: ServerAddress,
  question: DnsQuestion,
  clock: Clock,
  untilMs: number,
): TcpQuery {
  const socket = connect({ host: server.address, port: server.port, noDelay: true });
  const id = randomId(() => false);
  const chunks: Buffer[] = [];
  let received = 0;
  let abort = () => {};

  const result = new Promise<DnsExchange>((resolve) => {
    const finish = (exchange: DnsExchange) => {
      timer.cancel();
      socket.destroy();
      resolve(exchange);
    };
    const timer = clock.after(remainingAttemptMs(clock, untilMs), () => finish({ kind: "timeout" }));
    abort = () => finish({ kind: "unreachable" });
    socket.on("connect", () => socket.write(framed(encodeQuery(id, question.name, question.type))));
    socket.on("error", abort);
    socket.on("close", abort);
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      received += chunk.length;
      if (received < LENGTH_BYTES) return;
      const bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks.splice(0));
      if (chunks.length === 0) chunks.push(bytes);
      const end = LENGTH_BYTES + bytes.readUInt16BE();
      if (received < end) return;
      const message = bytes.subarray(LENGTH_BYTES, end);
      const packet = responseId(message) === id ? decodeResponse(message, question) : null;
      finish(packet && !packet.flag_tc ? { kind: "answer", packet } : { kind: "unreachable" });
    });
  });
  return { result, abort };
}
