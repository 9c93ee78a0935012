import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useDeferredValue, useId, useMemo, useState } from "react";
import { api, dataOf } from "../../../api/client.ts";
import { Button } from "../../../components/button.tsx";
import { Failure } from "../../../components/notice.tsx";
import { QuotaLeft } from "../../../components/quota-left.tsx";
import { counted, grouped } from "../../../words/numbers.ts";
import { csvOf, pastedAddresses } from "./pasted.ts";
import { useSubmission } from "./use-submission.ts";

/** Maximum rows of a request to the API; more are sent as a file. */
const INLINE_ROWS = 10_000;

/** Input of addresses as text. @param onFile called with a file of more addresses than a request takes */
export function Paste({ onFile }: { onFile(file: File): void }) {
  const id = useId();
  const [text, setText] = useState("");
  const shown = useDeferredValue(text);
  const addresses = useMemo(() => pastedAddresses(shown), [shown]);
  const different = useMemo(() => new Set(addresses).size, [addresses]);
  const navigate = useNavigate();
  const submission = useSubmission();

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    const emails = pastedAddresses(text);
    if (emails.length > INLINE_ROWS) {
      onFile(new File([csvOf(emails)], "pasted addresses.csv", { type: "text/csv" }));
      return;
    }
    const job = await submission.send((header) =>
      dataOf(api.POST("/v1/verify/bulk", { params: { header }, body: { emails } })),
    );
    if (job !== null) await navigate({ to: "/lists/$id", params: { id: job.id } });
  }

  const count = addresses.length;
  return (
    <form className="stack" onSubmit={submit}>
      <div className="field">
        <label htmlFor={id}>Addresses</label>
        <textarea
          id={id}
          className="mono"
          rows={8}
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder={"jane@example.com\nJohn Doe <john@example.org>"}
          autoCapitalize="off"
          spellCheck={false}
          aria-describedby={`${id}-count`}
        />
        <span className="hint" id={`${id}-count`}>
          {count === 0
            ? "One on a line, or with commas between them."
            : `${counted(count, "address", "addresses")}${different < count ? `, ${grouped(different)} of them different` : ""}`}
        </span>
      </div>
      <Failure error={submission.error} />
      <div className="row">
        <Button type="submit" look="primary" busy={submission.busy} disabled={count === 0}>
          {count > INLINE_ROWS
            ? "Upload them as a file"
            : `Verify ${count === 0 ? "them" : counted(count, "address", "addresses")}`}
        </Button>
        {count > 0 && count <= INLINE_ROWS && (
          <span className="muted">
            Costs {counted(different, "unit")} at most. <QuotaLeft />
          </span>
        )}
      </div>
    </form>
  );
}
