import { tryMailServer } from "../../features/mail/mail-transport.ts";
import { type DoctorGroup, errorLine, fail, ok, skipped } from "./finding.ts";
import { concerns } from "./roles.ts";

const WITHIN_MS = 8_000;

export const MAIL_GROUP: DoctorGroup = {
  name: "mail",
  title: "outgoing mail",
  async examine({ config }, { note }) {
    const check = "SMTP_OUT_URL";
    if (!concerns(config.role, "mails"))
      return note(
        skipped(
          check,
          "Only the relay hands on mails, and may reach their server: run the doctor there too.",
        ),
      );
    if (config.mail === null)
      return note(skipped(check, "SMTP_OUT_URL is not set: invitations and resets are not mailed."));
    const { host } = new URL(config.mail.url);
    try {
      await tryMailServer(config.mail.url, WITHIN_MS);
      note(ok(check, `${host} lets us in.`));
    } catch (error) {
      const advice =
        "Check host, port, user and password in SMTP_OUT_URL, and that the server offers STARTTLS (?requireTLS=false where it need not).";
      note(fail(check, `${host} does not let us in (${errorLine(error)}).`, advice));
    }
  },
};
