import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { recordAccepted, recordCommand, recordRejected, recordTransaction } from "./account.ts";
import { type Action, isPositive, isRefusal, say, sayAndClose } from "./action.ts";
import { createLineReader, isAscii, parseRecipient, parseSender } from "./command.ts";
import { answerRecipient } from "./mailboxes.ts";
import { createOutput, type Output } from "./output.ts";
import { DEFAULT_EXTENSIONS, type Dialogue, type Moment, type Recipient } from "./profile.ts";
import type { SessionContext } from "./session-context.ts";
import { answerStartTls, NO_RECORD } from "./starttls.ts";

export interface Session {
  destroy(): void;
  /** Sends everything that was withheld. */
  release(): void;
  /** Sends `bytes` more of a dripping reply. */
  drip(bytes: number): void;
}

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
  #lines = createLineReader();
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
      sender: "",
      transactions: 0,
      rejections: 0,
      recipients: 0,
      behind: 0,
      ofHost: context.account,
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
    const reader = this.#lines;
    const lines = reader.read(chunk);
    account.maxBurst = Math.max(account.maxBurst, lines.length);
    const pipelining = (profile.extensions ?? DEFAULT_EXTENSIONS).includes("PIPELINING");
    if (!pipelining && lines.length > 1) account.outOfTurn += lines.length - 1;
    for (const [i, line] of lines.entries()) {
      if (this.#output.ended || this.#lines !== reader) break;
      this.#dialogue.behind = lines.length - 1 - i;
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

  /** The reply, or null where one has been sent already. */
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
    this.#dialogue.sender = sender?.address ?? "";
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

  /** The override decides, then the profile, then the standard. From a held moment on, the output is withheld. */
  #decide(moment: Moment, recipient: Recipient, standard: () => Action): Action {
    const { overrides, profile, isHeld } = this.#context;
    if (isHeld(moment)) this.#output.hold();
    return (
      overrides.get(moment)?.(this.#dialogue, recipient) ??
      profile.on?.[moment]?.(this.#dialogue, recipient) ??
      standard()
    );
  }

  #startTls(): null {
    const { starttls } = this.#context.profile;
    const { actions, next } = answerStartTls(this.#dialogue.tls ? undefined : starttls);
    for (const action of actions) this.#output.act(action);
    if (next === "handshake") this.#upgrade();
    if (next === "spoilt") {
      this.#forgetClear();
      this.#stream.once("data", () => this.#output.act(NO_RECORD));
    }
    return null;
  }

  /** Drops what the client sent in clear after STARTTLS, as RFC 3207 §6 requires. */
  #forgetClear(): void {
    this.#stream.removeAllListeners("data");
    this.#lines = createLineReader();
  }

  #upgrade(): void {
    const { account, secureContext, changed } = this.#context;
    this.#forgetClear();
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
