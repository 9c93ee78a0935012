import { useId } from "react";

/** Over how many days a page looks back. */
export function DaysSelect({
  spans,
  days,
  onChange,
}: {
  spans: readonly number[];
  days: number;
  onChange: (days: number) => void;
}) {
  const id = useId();
  return (
    <div className="row">
      <label htmlFor={id}>Days</label>
      <select
        id={id}
        className="select"
        value={days}
        onChange={(event) => onChange(Number(event.target.value))}
      >
        {spans.map((span) => (
          <option key={span} value={span}>
            {span}
          </option>
        ))}
      </select>
    </div>
  );
}
