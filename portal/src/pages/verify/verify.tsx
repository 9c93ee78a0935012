import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { shownText } from "../../components/foreign-text.tsx";
import { Field } from "../../components/forms/field.tsx";
import { Failure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { NoProbing } from "../../components/plan-limits.tsx";
import { REASONS, VERDICTS, type VerificationResult } from "../../words/reasons.ts";
import { CallExamples } from "./call-examples.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Result } from "./result.tsx";

const verify = (email: string) =>
  dataOf(api.GET("/v1/verify", { params: { query: { email, evidence: true } } }));

/** The result in a sentence, for screen readers. */
function Spoken({ result: { email, verdict, reason } }: { result: VerificationResult }) {
  return (
    <span className="visually-hidden">
      {shownText(email)}: {VERDICTS[verdict]}. {REASONS[reason].says}
    </span>
  );
}

/** Verifies one address, and shows the result. */
export function VerifyPage() {
  const { email: asked } = useSearch({ from: "/frame/verify" });
  const navigate = useNavigate();
  const [text, setText] = useState(asked ?? "");
  const check = useMutation({ mutationFn: verify });

  // Once for each address: a page that is left open does not ask for ever.
  const [asksByItself, setAsksByItself] = useState(true);

  /** Called only on demand: a link from another site with an address must not cost anything. */
  function ask(email: string): void {
    setText(email);
    setAsksByItself(true);
    check.mutate(email);
    void navigate({ to: "/verify", search: { email }, replace: true });
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    ask(text.trim());
  }

  return (
    <>
      <PageHead title="Verify an address" />
      <form className="card" onSubmit={submit}>
        <Field
          label="Address"
          hint="Also as it stands in a mail: Jane Doe <jane@example.com>"
          value={text}
          onChange={setText}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          required
        />
        <div className="row">
          <Button type="submit" look="primary" busy={check.isPending}>
            Verify
          </Button>
          <span className="muted" role="status">
            {check.isPending && "Checking the domain, the lists and the mailbox…"}
            {check.data !== undefined && <Spoken result={check.data} />}
          </span>
        </div>
      </form>
      <NoProbing />
      <Failure error={check.error} />
      {check.data !== undefined && (
        <Result
          result={check.data}
          onAgain={() => {
            setAsksByItself(false);
            check.mutate(check.data.input ?? check.data.email);
          }}
          asksByItself={asksByItself}
          onTry={ask}
        />
      )}
      {check.data !== undefined && (
        <CallExamples title="The same by the API" email={shownText(check.data.email)} />
      )}
      <FirstSteps hasVerified={check.isSuccess} />
    </>
  );
}
