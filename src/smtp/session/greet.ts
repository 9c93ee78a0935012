import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { QUIT } from "../wire/command.ts";
import { type ConnectionTarget, createConnection } from "../wire/connection.ts";
import { Handshake, type HandshakeStep } from "../wire/handshake.ts";
import type { HeloName } from "../wire/mailbox.ts";
import type { FailureCause, Stage } from "../wire/outcome.ts";
import { createReplyParser, type SmtpReply } from "../wire/reply.ts";

/** Progress of a server's handshake without a recipient. */
export interface Greeting {
  /** The server accepted the connection. */
  reached: boolean;
  /** First line of its last positive reply to EHLO; "" without one. */
  hello: string;
  /** `untried`: the handshake ended before STARTTLS. */
  tls: "works" | "broken" | "not_offered" | "untried";
  /** Why the handshake ended early; null: it completed. */
  failure: { stage: Stage; cause: FailureCause | "reply"; detail: string } | null;
}

export interface GreetingOptions {
  target: ConnectionTarget;
  heloName: HeloName;
  clock: Clock;
  /** Time limit for the whole handshake. */
  withinMs: number;
}

/**
 * Connects, sends EHLO, uses STARTTLS if it is offered and sends QUIT: the part of a probe before the recipient. Never
 * rejects.
 */
export function probeGreeting({ target, heloName, clock, withinMs }: GreetingOptions): Promise<Greeting> {
  return new Promise((resolve) => {
    const handshake = new Handshake(heloName, "opportunistic");
    const replies = createReplyParser();
    const greeting: Greeting = { reached: false, hello: "", tls: "untried", failure: null };
    let securing = false;
    let over = false;

    const stage = (): Stage => (greeting.reached ? handshake.stage : "connect");
    const timer = clock.after(withinMs, () =>
      fail({ stage: stage(), cause: "timeout", detail: "no answer in time" }),
    );
    function end(failure: Greeting["failure"]): void {
      over = true;
      timer.cancel();
      resolve({ ...greeting, failure });
    }

    function fail(failure: NonNullable<Greeting["failure"]>): void {
      if (over) return;
      connection.destroy();
      if (failure.stage === "starttls") greeting.tls = "broken";
      end(failure);
    }

    function leave(): void {
      // A server that offered STARTTLS and then refused it also counts as ready, in clear.
      if (greeting.tls === "untried")
        greeting.tls = handshake.stage === "starttls" ? "broken" : "not_offered";
      connection.write(QUIT, "latin1");
      connection.end();
      clock.after(LIMITS.smtp.quitTimeoutMs, () => connection.destroy());
      end(null);
    }

    function follow(step: HandshakeStep): void {
      if (step.do === "write") connection.write(step.text, "latin1");
      else if (step.do === "starttls") {
        securing = true;
        connection.startTls();
      } else if (step.do === "ready") leave();
      else fail(failureOf(step.end));
    }

    function accept(reply: SmtpReply): boolean {
      if (handshake.stage === "ehlo" && reply.code === 250) greeting.hello = reply.lines[0] ?? "";
      follow(handshake.accept(reply));
      return !securing && !over;
    }

    const connection = createConnection(target, {
      onConnect() {
        greeting.reached = true;
      },
      onData(chunk, bytes) {
        if (securing || over) return;
        const fault = replies.push(chunk, accept, bytes);
        if (fault !== null) fail({ stage: stage(), cause: fault, detail: "not an SMTP reply" });
      },
      onSecure() {
        greeting.tls = "works";
        securing = false;
        replies.reset();
        follow(handshake.onSecured());
      },
      onClose: ({ cause, detail }) => fail({ stage: stage(), cause, detail }),
    });
  });
}

function failureOf(end: Extract<HandshakeStep, { do: "end" }>["end"]): NonNullable<Greeting["failure"]> {
  if (end.kind !== "reply") return end;
  const { stage, reply } = end;
  return { stage, cause: "reply", detail: `${reply.code} ${reply.lines[0] ?? ""}` };
}
