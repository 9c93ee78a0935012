import { type InputHTMLAttributes, type ReactNode, useId } from "react";

interface Props extends Omit<InputHTMLAttributes<HTMLInputElement>, "onChange"> {
  label: string;
  hint?: ReactNode;
  /** The fault of the value. */
  fault?: string | undefined;
  value: string;
  onChange(value: string): void;
  /** Behind the field, such as a button. */
  beside?: ReactNode;
}

/** A text field with its label, a hint and its fault. */
export function Field({ label, hint, fault, value, onChange, beside, ...rest }: Props) {
  const id = useId();
  const ids = [hint === undefined ? null : `${id}-hint`, fault === undefined ? null : `${id}-fault`];
  const describedBy = ids.filter((name) => name !== null).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="input">
        <input
          {...rest}
          id={id}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          aria-invalid={fault !== undefined}
          aria-describedby={describedBy === "" ? undefined : describedBy}
        />
        {beside}
      </div>
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {fault !== undefined && (
        <span className="fault" id={`${id}-fault`}>
          {fault}
        </span>
      )}
    </div>
  );
}
