import { Field } from "../../components/forms/field.tsx";
import { grouped } from "../../words/numbers.ts";

interface Props {
  text: string;
  setText(text: string): void;
  isFinding: boolean;
  isReading: boolean;
  pages: { rows: readonly unknown[] };
}

/** Searches among the domains of a list, and shows the number found. @param props result of `useFind` */
export function FindField({ text, setText, isFinding, isReading, pages }: Props) {
  return (
    <div className="stack">
      <Field
        label="Find a domain, or a part of one"
        type="search"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={text}
        onChange={setText}
      />
      <p className="muted" role="status">
        {isFinding && `${grouped(pages.rows.length)} found${isReading ? " so far; reading on…" : "."}`}
      </p>
    </div>
  );
}
