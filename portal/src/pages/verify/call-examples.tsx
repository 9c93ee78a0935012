import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { BASE_PATH } from "../../base-path.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { CALL_TEXTS } from "./call-texts.ts";

/** The same question as a call of the API. */
export function CallExamples({ email }: { email: string }) {
  const id = useId();
  const [language, setLanguage] = useState("curl");
  const text = CALL_TEXTS[language]?.(`${location.origin}${BASE_PATH}/v1/verify`, email) ?? "";
  return (
    <section className="card" aria-label="The same by the API">
      <div className="page-head">
        <h2>The same by the API</h2>
        <div className="row">
          <label htmlFor={id}>With</label>
          <select
            id={id}
            className="select"
            value={language}
            onChange={(event) => setLanguage(event.target.value)}
          >
            {Object.keys(CALL_TEXTS).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <CopyButton text={text} of="the call" />
        </div>
      </div>
      <pre>{text}</pre>
      <p className="muted">
        <code>RCPT_KEY</code> is an API key in the environment: <Link to="/keys">API keys</Link>.
      </p>
    </section>
  );
}
