import type { SmtpReply } from "./reply.ts";

/** Stages of a probe in order. Failures before `rcpt` are never about the recipient. */
export type Stage = "dns" | "connect" | "greeting" | "ehlo" | "starttls" | "mail" | "rcpt";

/** Why a stage ended without a reply. */
export type FailureCause =
  | "timeout"
  | "refused"
  | "unreachable"
  /** The proxy of the egress route failed: this says nothing about the server. */
  | "proxy"
  /** The egress route is cut off: the probe was not tried, or was given up. */
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

/** The other end of a connection. */
export interface Endpoint {
  address: string;
  /** Name of the egress route. */
  path: string;
}

/** An address dialled beside the one that the outcome names; it did not connect either. */
export interface TriedAddress extends Endpoint {
  cause: FailureCause;
  detail: string;
}

/** The end of one recipient's transaction: the reply that decided it, or the failure. */
export type RcptOutcome =
  | {
      kind: "reply";
      stage: Exclude<Stage, "dns" | "connect">;
      reply: SmtpReply;
      host: string;
      address: string;
      /** Name of the egress route; "" when nothing was dialled. */
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
      /** Name of the egress route; "" when nothing was dialled. */
      path: string;
      tls: boolean;
      latencyMs: number;
      /** Absent: only the named address was dialled. */
      tried?: readonly TriedAddress[];
    };
