import { createTransport } from "nodemailer";
import { LIMITS } from "../core/limits.ts";
import { isLoopbackHost } from "../core/local-url.ts";
import type { MailOutcome, SendMail } from "../services/mail/deliver.ts";

/** What the mail client hangs onto an error. Its message is not used: it quotes the server, who quotes the address. */
interface TransportError {
  /** Of the client, e.g. `ECONNECTION`, `EENVELOPE`. */
  code?: unknown;
  /** The SMTP command that was under way, e.g. `RCPT TO`. */
  command?: unknown;
  /** Of the server's reply. */
  responseCode?: unknown;
}

/**
 * Permanent is what the server says of this recipient or message (5yz to RCPT or DATA, RFC 5321 §4.2.1), and an address
 * that this server cannot be given. Whatever it says before RCPT is about us or our settings, which may be mended.
 */
function failure(error: TransportError): MailOutcome {
  const { code, command, responseCode } = error;
  const replied = typeof responseCode === "number";
  const isRefusal = replied && responseCode >= 500 && (command === "RCPT TO" || command === "DATA");
  const permanent = isRefusal || (code === "EENVELOPE" && !replied);
  const words = [code, command, responseCode].filter((word) => word !== undefined && word !== false);
  return { sent: false, permanent, code: words.join(" ") || "unknown" };
}

function transportTo(url: string, attemptMs: number) {
  return createTransport({
    url,
    // What the URL says goes before.
    requireTLS: !isLoopbackHost(new URL(url).hostname),
    connectionTimeout: attemptMs,
    greetingTimeout: attemptMs,
    socketTimeout: attemptMs,
    dnsTimeout: attemptMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/**
 * Connects, speaks TLS and signs in as a mail would, and sends none.
 * @throws Error what the server or the network said
 */
export async function tryMailServer(url: string, attemptMs: number): Promise<void> {
  const transport = transportTo(url, attemptMs);
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

/**
 * Sends by SMTP, each mail over a connection of its own. The recipient is given as it is, not as text to be parsed, and
 * header values are encoded, so that nothing in them ends a header or adds a recipient. The id names the message: who
 * gets it twice, because we died between sending and noting it, can tell.
 *
 * Mails hold tokens, and the URL a password: neither leaves the machine in clear because somebody on the way has taken
 * STARTTLS out of the server's answer. `?requireTLS=false` in the URL says that there is nobody.
 * @param url `smtp://` or `smtps://`, with credentials where there are some, and options of nodemailer as its query
 * @param attemptMs what one attempt may take in all
 */
export function createMailTransport(
  { url, from }: { url: string; from: string },
  attemptMs: number = LIMITS.mail.attemptMs,
): SendMail {
  const transport = transportTo(url, attemptMs);
  const domain = from.slice(from.lastIndexOf("@") + 1);

  return async (id, mail) => {
    try {
      await transport.sendMail({
        from: { name: "rcpt", address: from },
        to: { name: "", address: mail.to },
        subject: mail.subject,
        text: mail.text,
        messageId: `<${id}@${domain}>`,
        // RFC 3834: no vacation notices in reply, please.
        headers: { "Auto-Submitted": "auto-generated" },
        // The timeouts above are of silence; this one ends a server that drips.
        signal: AbortSignal.timeout(attemptMs),
      });
      return { sent: true };
    } catch (error) {
      return failure(error as TransportError);
    }
  };
}
