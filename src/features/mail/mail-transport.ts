import { createTransport } from "nodemailer";
import { LIMITS } from "../../config/limits/limits.ts";
import { isLoopbackHost } from "../../config/local-url.ts";
import type { MailOutcome, SendMail } from "./deliver.ts";

/**
 * The fields that the mail client adds to an error. Its message is not used: it quotes the server's text, which quotes the
 * address.
 */
interface TransportError {
  /** Error code of the client, e.g. `ECONNECTION`, `EENVELOPE`. */
  code?: unknown;
  /** The current SMTP command, e.g. `RCPT TO`. */
  command?: unknown;
  /** Code of the server's reply. */
  responseCode?: unknown;
}

/**
 * Permanent: the server rejects this recipient or message (5yz to RCPT or DATA, RFC 5321 §4.2.1), or the address cannot be
 * passed to this server. Replies before RCPT are about us or our settings, which can be corrected.
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
    // Options in the URL override this.
    requireTLS: !isLoopbackHost(new URL(url).hostname),
    connectionTimeout: attemptMs,
    greetingTimeout: attemptMs,
    socketTimeout: attemptMs,
    dnsTimeout: attemptMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Connects, starts TLS and signs in as for a mail, without sending one. @throws Error of the server or the network */
export async function tryMailServer(url: string, attemptMs: number): Promise<void> {
  const transport = transportTo(url, attemptMs);
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

/**
 * Sends by SMTP, each mail over a connection of its own. The recipient is passed unparsed, and header values are encoded,
 * so that they cannot end a header or add a recipient. The id names the message: if we die between sending and recording
 * it, the recipient gets it twice and can recognise that.
 *
 * Mails contain tokens, and the URL a password. Neither leaves the machine in clear text, even when an attacker removes
 * STARTTLS from the server's answer. `?requireTLS=false` in the URL permits it.
 * @param url `smtp://` or `smtps://`, with credentials if any, and options of nodemailer as its query
 * @param attemptMs time limit of one whole attempt
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
        // RFC 3834: asks for no vacation notices in reply.
        headers: { "Auto-Submitted": "auto-generated" },
        // The timeouts above limit silence; this one ends a server that sends very slowly.
        signal: AbortSignal.timeout(attemptMs),
      });
      return { sent: true };
    } catch (error) {
      return failure(error as TransportError);
    }
  };
}
