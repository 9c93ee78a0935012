import type { HostAccount } from "./account.ts";
import type { Action } from "./action.ts";

/** Moments at which a server may behave in its own way. */
export type Moment = "greeting" | "ehlo" | "helo" | "mail" | "rcpt";

/** What a handler knows of the session when it decides. */
export interface Dialogue {
  host: string;
  clientAddress: string;
  /** Name the client gave, "" before EHLO. */
  heloName: string;
  tls: boolean;
  /** The address in the last MAIL, "" for the null sender and before. */
  sender: string;
  /** Of this session, the command at hand not counted. */
  transactions: number;
  rejections: number;
  /** Recipients accepted in the transaction at hand. */
  recipients: number;
  /** Commands that came along with the one at hand and wait behind it: more than a RSET means further transactions. */
  behind: number;
  /** What the host has seen in all its sessions since the last reset. */
  ofHost: Readonly<HostAccount>;
  greylist: Greylist;
}

export interface Greylist {
  /** True when `address` may pass now; remembers that it asked. */
  admits(address: string, rule: "until_relent" | "first_only"): boolean;
}

export interface Recipient {
  local: string;
  /** Lower case. */
  domain: string;
}

/** `recipient` is given at `rcpt` only; null answers as a well-behaved server would. */
export type Handler = (dialogue: Dialogue, recipient: Recipient) => Action | null;

export interface HostProfile {
  /** Name of the MX host, e.g. `mx.plain.test`: the domain without `mx.` gets an MX record to it. */
  name: string;
  /** A fixed address; otherwise the next free one of 127.0.0.10 and up. */
  address?: string;
  /** EHLO keywords, STARTTLS apart; DEFAULT_EXTENSIONS when absent. */
  extensions?: string[];
  /** How STARTTLS, then offered, ends; absent: not offered. */
  starttls?: "works" | "refused" | "garbage" | "silent" | "injects" | "drops";
  /** MAIL in clear is answered 530 5.7.0. */
  tlsRequired?: boolean;
  /** The greeting of a connection above this number at once is 421. */
  maxConnections?: number;
  on?: Partial<Record<Moment, Handler>>;
}

export const DEFAULT_EXTENSIONS = ["PIPELINING", "SIZE 10485760", "8BITMIME", "ENHANCEDSTATUSCODES"];
