import { Link } from "@tanstack/react-router";
import { BASE_PATH } from "../../base-path.ts";
import { CopyButton } from "../../components/copy-button.tsx";

const curlText = (url: string) => `curl ${url}/v1/feedback \\
  -H "Authorization: Bearer $RCPT_KEY" -H "Content-Type: application/json" \\
  -d '{"events": [{"address": "jane@example.com", "outcome": "bounced",
       "reply": "550 5.1.1 User unknown", "verdict": "valid"}]}'`;

const COMMAND = "rcpt feedback bounces.mbox --job job_…";

/** Help while no outcome has been reported: how programs report. */
export function FirstReport() {
  const call = curlText(`${location.origin}${BASE_PATH}`);
  return (
    <>
      <p>
        Nothing has been reported in this time. Tell what became of your messages, with what rcpt had
        answered, and this page shows how good the answers were: by verdict, reason and provider.
      </p>
      <div className="page-head">
        <strong>From your program</strong>
        <CopyButton text={call} of="the call" />
      </div>
      <pre>{call}</pre>
      <div className="page-head">
        <strong>From a mailbox of bounces</strong>
        <CopyButton text={COMMAND} of="the command" />
      </div>
      <pre>{COMMAND}</pre>
      <p className="muted">
        <code>RCPT_KEY</code> is an API key: <Link to="/keys">API keys</Link>. <code>--job</code> adds what{" "}
        <Link to="/lists">a list</Link> of yours had answered. Report deliveries too, all or a sample: without
        them there is no rate.
      </p>
    </>
  );
}
