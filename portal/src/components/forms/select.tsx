import { type ReactNode, type SelectHTMLAttributes, useId } from "react";
import { shownText } from "../foreign-text.tsx";

interface Props<T extends string>
  extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "onChange" | "children"> {
  label: string;
  hint?: ReactNode;
  value: T;
  onChange(value: NoInfer<T>): void;
  options: readonly (readonly [value: T, text: string])[];
  /** True: the label is before the field, not above it. */
  inline?: boolean;
}

/** Values that are their own texts. */
export const asOptions = <T extends string>(values: readonly T[]) =>
  values.map((value) => [value, value] as const);

/** A choice of one, with its label. */
export function Select<T extends string>({
  label,
  hint,
  value,
  onChange,
  options,
  inline,
  ...rest
}: Props<T>) {
  const id = useId();
  return (
    <div className={inline === true ? "row" : "field"}>
      <label htmlFor={id}>{label}</label>
      <select
        {...rest}
        id={id}
        className="select"
        value={value}
        onChange={(event) => onChange(event.target.value as T)}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
      >
        {options.map(([own, text]) => (
          <option key={own} value={own}>
            {shownText(text)}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}
