import { BASE_PATH } from "../../base-path.ts";
import { CopyButton } from "../../components/copy-button.tsx";

/** A text as one word of a shell. */
const shellWord = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The same question as a call of the API. */
export function CallExamples({ email }: { email: string }) {
  const url = `${location.origin}${BASE_PATH}/v1/verify`;
  const curl = `curl -G ${url} -H "Authorization: Bearer $RCPT_KEY" \\\n  --data-urlencode ${shellWord(`email=${email}`)}`;
  return (
    <section className="card" aria-label="The same by the API">
      <div className="page-head">
        <h2>The same by the API</h2>
        <CopyButton text={curl} of="the curl command" />
      </div>
      <pre>{curl}</pre>
    </section>
  );
}
