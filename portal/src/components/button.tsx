import type { ButtonHTMLAttributes } from "react";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "danger" | "quiet";
  /** What it began is under way: it cannot be pressed again, says so, and keeps the focus. */
  busy?: boolean;
}

export function Button({ look, busy = false, className = "", children, onClick, ...rest }: Props) {
  const classes = ["button", look ?? "", className].filter((name) => name !== "").join(" ");
  return (
    <button
      type="button"
      {...rest}
      className={classes}
      aria-disabled={busy || undefined}
      aria-busy={busy}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {busy && <span className="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}
