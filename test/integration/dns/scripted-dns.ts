import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type Answer, type DecodedPacket, decode, encode } from "dns-packet";

/**
 * `answer`: an address for every name. `half-chain`: CNAMEs one step at a time; `endlessN.test` never ends,
 * `circle0.test` comes back to itself.
 * `noise`: a burst of garbage and mangled copies before each true answer. `half-silent`: no answer for `silent….test`.
 * `lower-case`: echoes the question in lower case. `forged-case`: before its first answer, a forged one that is right
 * except for the case. `held`: withholds the answer for `held.test` until `release`.
 */
export type DnsScript =
  | "answer"
  | "servfail"
  | "refused"
  | "silent"
  | "half-silent"
  | "half-chain"
  | "noise"
  | "lower-case"
  | "forged-case"
  | "held";

export interface ScriptedDns {
  /** `ip:port` */
  readonly address: string;
  /** Names in lower case, in order of their questions. */
  readonly asked: string[];
  /** The same as they were spelt. */
  readonly spelt: string[];
  /** The port that each question came from. */
  readonly ports: number[];
  release(): void;
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

const ADDRESS = "192.0.2.1";
const FORGED_ADDRESS = "203.0.113.66";
const RCODES = { servfail: 2, refused: 5 };
/** More than the kernel's default, so that a burst of questions is counted in full. */
const RECEIVE_BUFFER_BYTES = 4_194_304;

function halfChain(name: string): Answer {
  const endless = /^endless(\d+)\.test$/.exec(name);
  if (endless) return { type: "CNAME", name, ttl: 30, data: `endless${Number(endless[1]) + 1}.test` };
  const circle = /^circle([01])\.test$/.exec(name);
  if (circle) return { type: "CNAME", name, ttl: 30, data: `circle${1 - Number(circle[1])}.test` };
  if (name === "alias.test") return { type: "CNAME", name, ttl: 30, data: "target.test" };
  return { type: "A", name, ttl: 300, data: ADDRESS };
}

function reply(query: DecodedPacket, rcode: number, answers: Answer[]): Buffer {
  return encode({ type: "response", id: query.id, flags: rcode, questions: query.questions, answers });
}

/** An address for the one question of `query`, whose name is given back as `name`. */
function addressReply(query: DecodedPacket, name: string, address: string): Buffer {
  const answers: Answer[] = [{ type: "A", name, ttl: 300, data: address }];
  return encode({ type: "response", id: query.id, questions: [{ name, type: "A" }], answers });
}

const otherCase = (name: string) =>
  name.replace(/[a-z]/gi, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()));

/** Bytes that are no answer: random ones, and the true answer with its id, its question or its length spoilt. */
function noise(truth: Buffer): Buffer[] {
  const otherId = Buffer.from(truth);
  otherId.writeUInt16BE((truth.readUInt16BE() + 1) & 0xffff);
  const otherName = Buffer.from(truth);
  otherName[14] = (otherName[14] ?? 0) ^ 1;
  const query = Buffer.from(truth);
  query[2] = (query[2] ?? 0) & 0x7f;
  return [
    randomBytes(64),
    Buffer.alloc(0),
    otherId,
    otherName,
    query,
    truth.subarray(0, 20),
    randomBytes(12),
  ];
}

/** A DNS server with one behaviour, on a free UDP port of 127.0.0.1. */
export async function createScriptedDns(script: DnsScript): Promise<ScriptedDns> {
  const socket = createSocket({ type: "udp4", recvBufferSize: RECEIVE_BUFFER_BYTES });
  const asked: string[] = [];
  const spelt: string[] = [];
  const ports: number[] = [];
  const held: (() => void)[] = [];
  const waiters = new Set<() => void>();

  function answers(query: DecodedPacket, spelling: string): Buffer[] {
    const name = spelling.toLowerCase();
    if (script === "silent" || (script === "half-silent" && name.startsWith("silent"))) return [];
    if (script === "servfail" || script === "refused") return [reply(query, RCODES[script], [])];
    if (script === "half-chain") return [reply(query, 0, [halfChain(name)])];
    const truth = addressReply(query, script === "lower-case" ? name : spelling, ADDRESS);
    if (script === "forged-case" && asked.length === 1)
      return [addressReply(query, otherCase(spelling), FORGED_ADDRESS), truth];
    return script === "noise" ? [...noise(truth), truth] : [truth];
  }

  socket.on("message", (bytes, from) => {
    const query = decode(bytes);
    const spelling = query.questions?.[0]?.name ?? "";
    asked.push(spelling.toLowerCase());
    spelt.push(spelling);
    ports.push(from.port);
    const send = () => {
      for (const answer of answers(query, spelling)) socket.send(answer, from.port, from.address);
    };
    if (script === "held" && asked.at(-1) === "held.test") held.push(send);
    else send();
    for (const check of [...waiters]) check();
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");

  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    spelt,
    ports,
    release() {
      for (const send of held.splice(0)) send();
    },
    until(condition) {
      return new Promise((resolve) => {
        const check = () => {
          if (!condition()) return;
          waiters.delete(check);
          resolve();
        };
        waiters.add(check);
        check();
      });
    },
    close() {
      return new Promise((resolve) => socket.close(() => resolve()));
    },
  };
}
