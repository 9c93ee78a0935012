import type { HostAccount } from "./account.ts";
import type { Action } from "./action.ts";

/** Moments at which a server may deviate from the usual reply. */
export type Moment = "greeting" | "ehlo" | "helo" | "mail" | "rcpt";

/** State of the session that a handler can decide by. */
export interface Dialogue {
  host: string;
  clientAddress: string;
  /** Name that the client gave in EHLO or HELO; "" before. */
  heloName: string;
  tls: boolean;
  /** The address in the last MAIL; "" for the null sender, and before MAIL. */
  sender: string;
  /** Transactions and rejections of this session before the current command. */
  transactions: number;
  rejections: number;
  /** Recipients accepted in the current transaction. */
  recipients: number;
  /** Commands received with the current one and waiting behind it: more than a RSET means further transactions. */
  behind: number;
  /** Counters of the host over all its sessions since the last reset. */
  ofHost: Readonly<HostAccount>;
  greylist: Greylist;
}

export interface Greylist {
  /** True when `address` may pass now; records the attempt. */
  admits(address: string, rule: "until_relent" | "first_only"): boolean;
}

export interface Recipient {
  local: string;
  /** Lower case. */
  domain: string;
}

/** `recipient` is set at `rcpt` only; null replies as a well-behaved server would. */
export type Handler = (dialogue: Dialogue, recipient: Recipient) => Action | null;

export interface HostProfile {
  /** Name of the MX host, e.g. `mx.plain.test`: the domain without `mx.` gets an MX record to it. */
  name: string;
  /** A fixed address; otherwise the next free one of 127.0.0.10 and up. */
  address?: string;
  /** EHLO keywords, STARTTLS apart; DEFAULT_EXTENSIONS when absent. */
  extensions?: string[];
  /** Outcome of STARTTLS; absent: not offered. */
  starttls?: "works" | "refused" | "garbage" | "silent" | "injects" | "drops";
  /** MAIL in clear is answered 530 5.7.0. */
  tlsRequired?: boolean;
  /** The greeting of a connection above this number at once is 421. */
  maxConnections?: number;
  on?: Partial<Record<Moment, Handler>>;
}

export const DEFAULT_EXTENSIONS = ["PIPELINING", "SIZE 10485760", "8BITMIME", "ENHANCEDSTATUSCODES"];
