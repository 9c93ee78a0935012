import { createSocket, type Socket } from "node:dgram";
import * as dnsPacket from "dns-packet";

/** Address of the DNS server: mail servers can be configured with an address only, never with a port. */
export const NAMES_IP = "127.0.11.1";
const PORT = 53;
export const LIST = "dnsbl.test";
/** Source address of the service's connections, reversed for DNS lists. */
const OURS_REVERSED = "1.0.0.127";
const AUTHORITATIVE_AND_RECURSIVE = dnsPacket.AUTHORITATIVE_ANSWER | dnsPacket.RECURSION_AVAILABLE;
const NXDOMAIN = 3;

export interface Names {
  close(): Promise<void>;
}

/** The one listed address with the list's reason; no other name exists, that of our sender neither. */
export function answerOf(name: string, type: string): dnsPacket.Answer[] | null {
  if (name.toLowerCase() !== `${OURS_REVERSED}.${LIST}`) return null;
  if (type === "A") return [{ name, type, ttl: 60, data: "127.0.0.2" }];
  if (type === "TXT") return [{ name, type, ttl: 60, data: `Listed, see http://www.${LIST}/?ip=127.0.0.1` }];
  return [];
}

function reply(message: Buffer): Buffer | null {
  let query: dnsPacket.Packet;
  try {
    query = dnsPacket.decode(message);
  } catch {
    return null;
  }
  const question = query.questions?.[0];
  if (question === undefined) return null;
  const answers = answerOf(question.name, question.type);
  return dnsPacket.encode({
    id: query.id ?? 0,
    type: "response",
    flags: AUTHORITATIVE_AND_RECURSIVE | (answers === null ? NXDOMAIN : 0),
    questions: [question],
    answers: answers ?? [],
  });
}

function bind(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind({ port: PORT, address: NAMES_IP, exclusive: true }, () => {
      socket.removeListener("error", reject);
      socket.on("error", () => undefined);
      resolve();
    });
  });
}

/**
 * Serves a DNS list that we are on to the mail servers, at NAMES_IP, UDP port 53. A string says why it cannot: that port
 * is root's on most systems.
 */
export async function serveNames(): Promise<Names | string> {
  const socket = createSocket("udp4");
  socket.on("message", (message, { address, port }) => {
    const answer = reply(message);
    if (answer !== null) socket.send(answer, port, address);
  });
  try {
    await bind(socket);
  } catch (error) {
    socket.close();
    return `cannot serve DNS on ${NAMES_IP} port ${PORT} (${(error as NodeJS.ErrnoException).code ?? "error"})`;
  }
  return { close: () => new Promise((resolve) => socket.close(() => resolve())) };
}
