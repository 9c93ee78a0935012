import { ehlo, helo, STARTTLS } from "./command.ts";
import type { HeloName } from "./mailbox.ts";
import { detectMta, type Mta } from "./mta.ts";
import type { Endpoint, FailureCause, Stage, TriedAddress } from "./outcome.ts";
import type { TlsPolicy } from "./policy.ts";
import type { SmtpReply } from "./reply.ts";

/** The end of a session: a reply that allows no next command, or a failure at a stage. */
export type SessionEnd = (
  | { kind: "reply"; stage: "greeting" | "ehlo" | "starttls" | "mail" | "rcpt"; reply: SmtpReply }
  | {
      kind: "failure";
      stage: Stage;
      cause: FailureCause;
      detail: string;
      /** The other addresses of the host that were dialled, when none connected. */
      tried?: readonly TriedAddress[];
    }
) & {
  /** The connected endpoint, if it is not the first address that was dialled. */
  at?: Endpoint;
};

/** The server's extensions, from its last EHLO reply. */
export interface Capabilities {
  pipelining: boolean;
  starttls: boolean;
  smtputf8: boolean;
}

export type HandshakeStep =
  | { do: "write"; text: string }
  | { do: "starttls" }
  | { do: "ready" }
  | { do: "end"; end: SessionEnd };

const NO_CAPABILITIES: Capabilities = { pipelining: false, starttls: false, smtputf8: false };

function parseCapabilities(reply: SmtpReply): Capabilities {
  const offered = new Set<string>();
  for (const line of reply.lines.slice(1)) offered.add((line.split(" ", 1)[0] ?? "").toUpperCase());
  return {
    pipelining: offered.has("PIPELINING"),
    starttls: offered.has("STARTTLS"),
    smtputf8: offered.has("SMTPUTF8"),
  };
}

/** The dialogue from the greeting to the first transaction, as a pure state machine: replies in, next step out. */
export class Handshake {
  stage: "greeting" | "ehlo" | "starttls" = "greeting";
  capabilities: Capabilities = NO_CAPABILITIES;
  /** null: the server does not reveal its software. */
  mta: Mta | null = null;
  #greetingReply: SmtpReply | null = null;
  readonly #name: HeloName;
  readonly #tls: TlsPolicy;
  #sentHello: "none" | "ehlo" | "helo" = "none";
  #secure = false;

  constructor(name: HeloName, tls: TlsPolicy) {
    this.#name = name;
    this.#tls = tls;
  }

  accept(reply: SmtpReply): HandshakeStep {
    if (reply.code === 421) return this.#refused(reply);
    if (this.stage === "greeting") return this.#greeting(reply);
    if (this.stage === "ehlo") return this.#hello(reply);
    if (reply.code === 220) return { do: "starttls" };
    return this.#tls === "required" ? this.#refused(reply) : { do: "ready" };
  }

  /** TLS is up: forgets everything learned in clear (RFC 3207 §4.2). */
  onSecured(): HandshakeStep {
    this.#secure = true;
    this.capabilities = NO_CAPABILITIES;
    return this.#sendEhlo();
  }

  #greeting(reply: SmtpReply): HandshakeStep {
    if (reply.code >= 400) return this.#refused(reply);
    if (reply.code !== 220) return this.#outOfStep(reply);
    this.#greetingReply = reply;
    return this.#sendEhlo();
  }

  #hello(reply: SmtpReply): HandshakeStep {
    if (reply.code >= 400) return this.#helloRefused(reply);
    if (reply.code >= 300) return this.#outOfStep(reply);
    const hello = this.#sentHello === "ehlo" ? reply : null;
    if (hello !== null) this.capabilities = parseCapabilities(hello);
    // Under TLS a server may offer more than in clear; it is still the same server.
    this.mta ??= detectMta(this.#greetingReply, hello);
    if (this.#secure || this.#tls === "never") return { do: "ready" };
    if (this.capabilities.starttls) {
      this.stage = "starttls";
      return { do: "write", text: STARTTLS };
    }
    if (this.#tls === "opportunistic") return { do: "ready" };
    this.stage = "starttls";
    const end: SessionEnd = {
      kind: "failure",
      stage: "starttls",
      cause: "tls",
      detail: "STARTTLS is not offered",
    };
    return { do: "end", end };
  }

  /** HELO for servers without EHLO; 521 and 556 say that the host takes no mail at all (RFC 7504). */
  #helloRefused(reply: SmtpReply): HandshakeStep {
    const final = reply.code < 500 || reply.code === 521 || reply.code === 556;
    if (final || this.#sentHello === "helo") return this.#refused(reply);
    this.#sentHello = "helo";
    return { do: "write", text: helo(this.#name) };
  }

  #sendEhlo(): HandshakeStep {
    this.stage = "ehlo";
    this.#sentHello = "ehlo";
    return { do: "write", text: ehlo(this.#name) };
  }

  #refused(reply: SmtpReply): HandshakeStep {
    return { do: "end", end: { kind: "reply", stage: this.stage, reply } };
  }

  #outOfStep(reply: SmtpReply): HandshakeStep {
    const detail = `unexpected ${reply.code}`;
    return { do: "end", end: { kind: "failure", stage: this.stage, cause: "protocol", detail } };
  }
}
