import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { BASE_PATH } from "../../base-path.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { asOptions, Select } from "../../components/forms/select.tsx";
import { CALL_TEXTS } from "./call-texts.ts";

const LANGUAGES = asOptions(Object.keys(CALL_TEXTS));

interface Props {
  /** What it is the call of. */
  title: string;
  email: string;
}

/** The verification of an address as a call of the API. */
export function CallExamples({ title, email }: Props) {
  const [language, setLanguage] = useState("curl");
  const text = CALL_TEXTS[language]?.(location.origin + BASE_PATH, email) ?? "";
  return (
    <section className="card" aria-label={title}>
      <div className="page-head">
        <h2>{title}</h2>
        <div className="row">
          <Select label="With" inline value={language} onChange={setLanguage} options={LANGUAGES} />
          <CopyButton text={text} of="the call" />
        </div>
      </div>
      <pre>{text}</pre>
      <p className="muted">
        <code>RCPT_KEY</code> is an API key in the environment: <Link to="/keys">API keys</Link>.
        {language === "TypeScript" && (
          <>
            {" "}
            How to install <code>@rcpt/client</code>: <a href={`${BASE_PATH}/docs/client`}>client library</a>.
          </>
        )}
      </p>
    </section>
  );
}
