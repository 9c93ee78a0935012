import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Socket } from "node:net";
import * as dnsPacket from "dns-packet";
import { faultyMessages, MESSAGE_MAX, UDP_SIZE_DEFAULT, wholeAnswer, withinSize } from "./dns-message.ts";
import { closeServer, listenOn } from "./host.ts";
import { lookUp, RCODE, type Zone, type ZoneEntry, type ZoneType } from "./zone.ts";

export interface DnsServer {
  /** `127.0.0.1:PORT`, as the setting DNS_SERVERS wants it. */
  readonly address: string;
  /** Queries for `name` and `type` since the last reset, UDP and TCP together, by the name in lower case. */
  count(name: string, type: ZoneType): number;
  /** All queries, and the part of them that came by TCP. */
  readonly totals: { queries: number; tcp: number; held: number };
  /** Adds or replaces the records of one name. */
  set(name: string, entry: ZoneEntry): void;
  remove(name: string): void;
  /** Withholds all answers until `release`. */
  hold(): void;
  release(): void;
  resetCounters(): void;
  close(): Promise<void>;
}

/** Transport of an answer; `size` is the most bytes that a message may have. */
interface Channel {
  size: number;
  tcp: boolean;
  send(message: Buffer): void;
  /** Ends the connection (TCP), nothing on UDP. */
  hangUp(): void;
}

const HELD_MAX = 10_000;
const BIND_ATTEMPTS = 20;
/** The kernel must not drop queries of a burst of some thousands: that would be a test of the kernel. */
const RECEIVE_BUFFER_BYTES = 4_194_304;

const ZONE_TYPES: readonly string[] = ["MX", "A", "AAAA", "TXT", "PTR"] satisfies ZoneType[];
const isZoneType = (type: string): type is ZoneType => ZONE_TYPES.includes(type);

/** An authoritative server for `zone` on a free port of 127.0.0.1, UDP and TCP. `changed` runs after each query. */
export async function createDnsServer(zone: Zone, changed: () => void = () => {}): Promise<DnsServer> {
  const counts = new Map<string, number>();
  const totals = { queries: 0, tcp: 0, held: 0 };
  const heldBack: (() => void)[] = [];
  const connections = new Set<Socket>();
  let holding = false;

  function answer(message: Buffer, channel: Channel): void {
    const query = decode(message);
    const question = query?.questions?.[0];
    if (query === null || question === undefined) return;
    const { name, type } = question;
    totals.queries++;
    if (channel.tcp) totals.tcp++;
    const key = `${name.toLowerCase()}/${type}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    const edns = query.additionals?.find((record) => record.type === "OPT");
    const sized = channel.tcp ? channel : { ...channel, size: edns?.udpPayloadSize ?? UDP_SIZE_DEFAULT };
    const respond = () => deliver(query, name, type, sized);
    if (!holding) respond();
    else if (heldBack.length < HELD_MAX) totals.held = heldBack.push(respond);
    changed();
  }

  function deliver(query: dnsPacket.DecodedPacket, name: string, type: string, channel: Channel): void {
    if (!isZoneType(type)) {
      channel.send(wholeAnswer(query, { rcode: RCODE.notimp, answers: [], authorities: [] }));
      return;
    }
    const fault = zone.get(name.toLowerCase())?.faults?.[type];
    const truth = lookUp(zone, name, type);
    if (fault === "silent") return;
    const messages =
      fault === undefined
        ? [withinSize(query, truth, channel.size)]
        : faultyMessages(fault, query, truth, channel.tcp);
    for (const bytes of messages) channel.send(bytes);
    if (messages.length === 0) channel.hangUp();
  }

  const udp = createSocket({ type: "udp4", recvBufferSize: RECEIVE_BUFFER_BYTES });
  udp.on("message", (message, peer: RemoteInfo) =>
    answer(message, {
      size: UDP_SIZE_DEFAULT,
      tcp: false,
      send: (bytes) => udp.send(bytes, peer.port, peer.address),
      hangUp: () => {},
    }),
  );
  const tcp = createServer((socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    socket.on("error", () => socket.destroy());
    readFrames(socket, (message) =>
      answer(message, {
        size: MESSAGE_MAX,
        tcp: true,
        send: (bytes) => socket.write(Buffer.concat([lengthPrefix(bytes.length), bytes])),
        hangUp: () => socket.end(),
      }),
    );
  });
  const port = await bindBoth();

  /** Binds the TCP port first: another process may hold that one. */
  async function bindBoth(): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      const free = await listenOn(tcp, 0, "127.0.0.1");
      try {
        await bindUdp(udp, free);
        return free;
      } catch (error) {
        await closeServer(tcp);
        if (attempt === BIND_ATTEMPTS) throw error;
      }
    }
  }

  return {
    address: `127.0.0.1:${port}`,
    totals,
    count: (name, type) => counts.get(`${name.toLowerCase()}/${type}`) ?? 0,
    set: (name, entry) => void zone.set(name.toLowerCase(), entry),
    remove: (name) => void zone.delete(name.toLowerCase()),
    hold() {
      holding = true;
    },
    release() {
      holding = false;
      totals.held = 0;
      for (const respond of heldBack.splice(0)) respond();
    },
    resetCounters() {
      counts.clear();
      Object.assign(totals, { queries: 0, tcp: 0 });
    },
    async close() {
      heldBack.length = 0;
      const closed = Promise.all([
        closeServer(tcp),
        new Promise<void>((resolve) => udp.close(() => resolve())),
      ]);
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

function decode(message: Buffer): dnsPacket.DecodedPacket | null {
  try {
    return dnsPacket.decode(message);
  } catch {
    return null;
  }
}

function bindUdp(socket: UdpSocket, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, () => {
      socket.removeListener("error", reject);
      resolve();
    });
  });
}

function lengthPrefix(length: number): Buffer {
  const prefix = Buffer.alloc(2);
  prefix.writeUInt16BE(length);
  return prefix;
}

/** RFC 1035 §4.2.2: each message behind its length in two bytes. */
function readFrames(socket: Socket, receive: (message: Buffer) => void): void {
  let pending = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0);
      receive(pending.subarray(2, end));
      pending = pending.subarray(end);
    }
  });
}
