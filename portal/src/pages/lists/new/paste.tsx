import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useDeferredValue, useId, useMemo } from "react";
import { useIdentity } from "../../../api/session.ts";
import { Button } from "../../../components/button.tsx";
import { Failure } from "../../../components/notice.tsx";
import { QuotaLeft } from "../../../components/quota-left.tsx";
import { pastedText } from "../../../uploads/pasted-text.ts";
import { counted, grouped } from "../../../words/numbers.ts";
import { csvOf, type Pasted, readPasted } from "./pasted.ts";
import { useSubmission } from "./use-submission.ts";

/** Maximum rows of a request to the API; more are sent as a file. */
const INLINE_ROWS = 10_000;

/** The file that a text becomes when its addresses are not sent as they are; null: they are. */
function fileOf(text: string, { addresses, isTable }: Pasted): File | null {
  if (isTable) return new File([text], "pasted table.csv", { type: "text/csv" });
  if (addresses.length <= INLINE_ROWS) return null;
  return new File([csvOf(addresses)], "pasted addresses.csv", { type: "text/csv" });
}

function hintOf({ addresses, isTable, header }: Pasted, different: number): string {
  if (isTable) return "This is a table. You see how it is read before it costs anything.";
  const count = addresses.length;
  if (count === 0)
    return "One on a line, or with commas between them; or a table, copied from a spreadsheet.";
  const others = different < count ? `, ${grouped(different)} of them different` : "";
  const without = header === null ? "" : `; the first line, ${header}, is taken for a heading`;
  return `${counted(count, "address", "addresses")}${others}${without}`;
}

function actionOf({ addresses, isTable }: Pasted): string {
  if (isTable) return "Upload the table";
  const count = addresses.length;
  if (count > INLINE_ROWS) return "Upload them as a file";
  return `Verify ${count === 0 ? "them" : counted(count, "address", "addresses")}`;
}

/** The pasted text, and a function that keeps another one. */
function usePastedText() {
  const { user, team } = useIdentity();
  const owner = `${user?.id} ${team.id}`;
  const kept = pastedText.use();
  return {
    text: kept?.owner === owner ? kept.text : "",
    keep: (text: string, file: File | null = null) => pastedText.set({ owner, text, file }),
  };
}

/**
 * Input of addresses as text.
 * @param onFile called with a file of a table, or of more addresses than a request takes
 */
export function Paste({ onFile }: { onFile(file: File): void }) {
  const id = useId();
  const { text, keep } = usePastedText();
  const shown = useDeferredValue(text);
  const pasted = useMemo(() => readPasted(shown), [shown]);
  const { addresses, isTable } = pasted;
  const different = useMemo(() => new Set(addresses).size, [addresses]);
  const navigate = useNavigate();
  const submission = useSubmission();

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    const now = readPasted(text);
    const file = fileOf(text, now);
    if (file !== null) {
      keep(text, file);
      return onFile(file);
    }
    const job = await submission.send({ emails: now.addresses });
    if (job === null) return;
    pastedText.set(null);
    await navigate({ to: "/lists/$id", params: { id: job.id } });
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
          onChange={(event) => keep(event.target.value)}
          placeholder={"jane@example.com\nJohn Doe <john@example.org>"}
          autoCapitalize="off"
          spellCheck={false}
          aria-describedby={`${id}-count`}
        />
        <span className="hint" id={`${id}-count`}>
          {hintOf(pasted, different)}
        </span>
      </div>
      <Failure error={submission.error} />
      <div className="row">
        <Button type="submit" look="primary" busy={submission.busy} disabled={count === 0 && !isTable}>
          {actionOf(pasted)}
        </Button>
        {count > 0 && count <= INLINE_ROWS && !isTable && (
          <span className="muted">
            Costs {counted(different, "unit")} at most. <QuotaLeft />
          </span>
        )}
      </div>
    </form>
  );
}
