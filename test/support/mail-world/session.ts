import type { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { type SecureContext, TLSSocket } from "node:tls";
import {
  type HostAccount,
  recordAccepted,
  recordCommand,
  recordRejected,
  recordTransaction,
} from "./account.ts";
import { type Action, DROP, isPositive, isRefusal, SILENCE, say, sayAndClose, sayBytes } from "./action.ts";
import { isAscii, parseRecipient, parseSender } from "./command.ts";
import { answerRecipient } from "./mailboxes.ts";
import { createOutput, type Output } from "./output.ts";
import {
  DEFAULT_EXTENSIONS,
  type Dialogue,
  type Greylist,
  type HostProfile,
  type Moment,
  type Recipient,
} from "./profile.ts";

export interface SessionContext {
  profile: HostProfile;
  account: HostAccount;
  greylist: Greylist;
  secureContext: SecureContext;
  dripIntervalMs: number | null;
  /** Behaviour set by a test while the world runs; it goes before the profile's. */
  overrides: Map<Moment, (dialogue: Dialogue, recipient: Recipient) => Action | null>;
  isHeld(moment: Moment): boolean;
  changed(): void;
}

export interface Session {
  destroy(): void;
  /** Sends what was held back. */
  release(): void;
  /** Sends `bytes` more of a dripping reply. */
  drip(bytes: number): void;
}

const LINE_MAX = 4_096;
const NOBODY: Recipient = { local: "", domain: "" };

/** One connection's dialogue: RFC 5321 as far as RCPT, with the profile's deviations. */
export function serveSession(socket: Socket, number: number, context: SessionContext): Session {
  const session = new SmtpSession(socket, number, context);
  session.greet();
  return session;
}

class SmtpSession implements Session {
  readonly #number: number;
  readonly #context: SessionContext;
  readonly #dialogue: Dialogue;
  #stream: Socket;
  #output: Output;
  /** Keeps a character whole that two reads have in parts. */
  readonly #decoder = new StringDecoder("utf8");
  #buffer = "";
  #transaction: { smtputf8: boolean } | null = null;

  constructor(socket: Socket, number: number, context: SessionContext) {
    this.#number = number;
    this.#context = context;
    this.#stream = socket;
    this.#dialogue = {
      host: context.profile.name,
      clientAddress: socket.remoteAddress ?? "",
      heloName: "",
      tls: false,
      transactions: 0,
      rejections: 0,
      recipients: 0,
      greylist: context.greylist,
    };
    this.#output = createOutput(socket, context);
    this.#listen(socket);
  }

  greet(): void {
    const { profile, account } = this.#context;
    if (account.open > (profile.maxConnections ?? Number.POSITIVE_INFINITY)) {
      this.#output.act(sayAndClose("421 4.7.0 Too many connections from your host, try again later"));
      return;
    }
    this.#output.act(this.#decide("greeting", NOBODY, () => say(`220 ${profile.name} ESMTP ready`)));
  }

  destroy(): void {
    this.#output.stop();
    this.#stream.destroy();
  }

  release(): void {
    this.#output.release();
  }

  drip(bytes: number): void {
    this.#output.drip(bytes);
  }

  #listen(stream: Socket): void {
    stream.on("data", (chunk: Buffer) => this.#feed(chunk));
    stream.on("error", () => this.destroy());
  }

  #feed(chunk: Buffer): void {
    const { account, profile, changed } = this.#context;
    if (this.#output.ended) return;
    this.#buffer += this.#decoder.write(chunk);
    const lines = this.#buffer.split("\n");
    this.#buffer = (lines.pop() ?? "").slice(0, LINE_MAX);
    account.maxBurst = Math.max(account.maxBurst, lines.length);
    const pipelining = (profile.extensions ?? DEFAULT_EXTENSIONS).includes("PIPELINING");
    if (!pipelining && lines.length > 1) account.outOfTurn += lines.length - 1;
    for (const line of lines) {
      if (this.#output.ended) break;
      this.#line(line);
    }
    changed();
  }

  #line(raw: string): void {
    const { account } = this.#context;
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (line === raw || /[\x00-\x1f\x7f]/.test(line)) account.malformed++;
    recordCommand(account, { session: this.#number, tls: this.#dialogue.tls, line });
    const [verb = "", ...rest] = line.split(" ");
    const action = this.#command(verb.toUpperCase(), rest.join(" "));
    if (action !== null) this.#output.act(action);
  }

  /** The answer, or null where it is already given. */
  #command(verb: string, argument: string): Action | null {
    switch (verb) {
      case "EHLO":
      case "HELO":
        return this.#hello(verb, argument);
      case "STARTTLS":
        return this.#startTls();
      case "MAIL":
        return this.#mail(argument);
      case "RCPT":
        return this.#rcpt(argument);
      case "RSET":
        this.#endTransaction();
        return say("250 2.0.0 Ok");
      case "NOOP":
        return say("250 2.0.0 Ok");
      case "QUIT":
        return sayAndClose("221 2.0.0 Bye");
      default:
        return say("502 5.5.2 Error: command not recognized");
    }
  }

  #hello(verb: "EHLO" | "HELO", name: string): Action {
    const { profile } = this.#context;
    this.#dialogue.heloName = name;
    this.#endTransaction();
    const action = this.#decide(verb === "EHLO" ? "ehlo" : "helo", NOBODY, () =>
      verb === "HELO" ? say(`250 ${profile.name}`) : this.#features(),
    );
    if (!isPositive(action)) this.#dialogue.heloName = "";
    return action;
  }

  #features(): Action {
    const { name, starttls, extensions = DEFAULT_EXTENSIONS } = this.#context.profile;
    const offersTls = starttls !== undefined && !this.#dialogue.tls;
    const lines = [name, ...extensions, ...(offersTls ? ["STARTTLS"] : [])];
    return say(...lines.map((text, i) => `250${i === lines.length - 1 ? " " : "-"}${text}`));
  }

  #mail(argument: string): Action {
    const { tlsRequired, extensions = DEFAULT_EXTENSIONS } = this.#context.profile;
    const sender = parseSender(argument);
    if (this.#dialogue.heloName === "") return say("503 5.5.1 Error: send HELO/EHLO first");
    if (this.#transaction !== null) return say("503 5.5.1 Error: nested MAIL command");
    if (sender === null) return say("501 5.1.7 Bad sender address syntax");
    if (tlsRequired === true && !this.#dialogue.tls) {
      return say("530 5.7.0 Must issue a STARTTLS command first");
    }
    if (sender.smtputf8 && !extensions.includes("SMTPUTF8")) {
      return say("555 5.5.4 Unsupported option: SMTPUTF8");
    }
    const action = this.#decide("mail", NOBODY, () => say("250 2.1.0 Ok"));
    if (isPositive(action)) {
      this.#transaction = sender;
      recordTransaction(this.#context.account, ++this.#dialogue.transactions);
    }
    return action;
  }

  #rcpt(argument: string): Action {
    if (this.#transaction === null) return say("503 5.5.1 Error: need MAIL command");
    const recipient = parseRecipient(argument);
    if (recipient === null) return say("501 5.1.3 Bad recipient address syntax");
    if (!isAscii(recipient) && !this.#transaction.smtputf8) return say("553 5.6.7 Address requires SMTPUTF8");
    const action = this.#decide("rcpt", recipient, () => answerRecipient(this.#dialogue, recipient));
    if (isPositive(action)) recordAccepted(this.#context.account, ++this.#dialogue.recipients);
    else if (isRefusal(action)) recordRejected(this.#context.account, ++this.#dialogue.rejections);
    return action;
  }

  #endTransaction(): void {
    this.#transaction = null;
    this.#dialogue.recipients = 0;
  }

  /** Override, then profile, then standard; from a held moment on, the output waits for its release. */
  #decide(moment: Moment, recipient: Recipient, standard: () => Action): Action {
    const { overrides, profile, isHeld } = this.#context;
    if (isHeld(moment)) this.#output.hold();
    return (
      overrides.get(moment)?.(this.#dialogue, recipient) ??
      profile.on?.[moment]?.(this.#dialogue, recipient) ??
      standard()
    );
  }

  #startTls(): Action | null {
    const { starttls } = this.#context.profile;
    const ready = "220 2.0.0 Ready to start TLS";
    if (starttls === undefined || this.#dialogue.tls) return say("502 5.5.1 Error: command not implemented");
    if (starttls === "refused") return say("454 4.7.0 TLS not available due to local problem");
    if (starttls === "drops") return DROP;
    this.#output.act(starttls === "injects" ? say(ready, "250 2.1.0 Ok", "250 2.1.5 Ok") : say(ready));
    if (starttls === "garbage") this.#output.act(sayBytes(Buffer.from("this is no TLS record\r\n")));
    if (starttls === "garbage" || starttls === "silent") return SILENCE;
    this.#upgrade();
    return null;
  }

  /** What the client sent in clear after STARTTLS is thrown away, as RFC 3207 §6 asks; so is all it said before. */
  #upgrade(): void {
    const { account, secureContext, changed } = this.#context;
    this.#stream.removeAllListeners("data");
    this.#buffer = "";
    this.#endTransaction();
    this.#dialogue.heloName = "";
    this.#dialogue.tls = true;
    let secured = false;
    const secure = new TLSSocket(this.#stream, { isServer: true, secureContext });
    secure.on("secure", () => {
      secured = true;
      account.tlsHandshakes++;
      changed();
    });
    secure.on("close", () => {
      if (!secured) account.tlsFailures++;
      this.destroy();
      changed();
    });
    this.#stream = secure;
    this.#output = createOutput(secure, this.#context);
    this.#listen(secure);
  }
}
