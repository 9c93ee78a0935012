import type { Reply } from "./reply.ts";

/** Stages of a probe in order. Failures before `rcpt` are never about the recipient. */
export type Stage = "dns" | "connect" | "greeting" | "ehlo" | "starttls" | "mail" | "rcpt";

/** Why a stage ended without a reply. */
export type FailureCause =
  | "timeout"
  | "refused"
  | "unreachable"
  /** The proxy of the way did not do its part: nothing is said of the server. */
  | "proxy"
  /** Nothing leaves by the way: it was not tried, or given up. */
  | "cut_off"
  | "closed"
  | "tls"
  | "protocol"
  | "reply_too_long"
  | "private_address"
  | "no_address"
  | "no_slot"
  | "smtputf8_missing"
  | "held_back"
  | "cancelled";

/** Where a connection leads. */
export interface Endpoint {
  address: string;
  /** Name of the egress route. */
  path: string;
}

/** An address that was dialled beside the one that an outcome names, and did not connect either. */
export interface TriedAddress extends Endpoint {
  cause: FailureCause;
  detail: string;
}

/** The end of one recipient's transaction: the reply that decided it, or the failure. */
export type RcptOutcome =
  | {
      kind: "reply";
      stage: Exclude<Stage, "dns" | "connect">;
      reply: Reply;
      host: string;
      address: string;
      /** Name of the way it went, "" when it never set out. */
      path: string;
      tls: boolean;
      latencyMs: number;
    }
  | {
      kind: "failure";
      stage: Stage;
      cause: FailureCause;
      detail: string;
      host: string;
      address: string;
      /** Name of the way it went, "" when it never set out. */
      path: string;
      tls: boolean;
      latencyMs: number;
      /** Absent: no other address was dialled beside this one. */
      tried?: readonly TriedAddress[];
    };
