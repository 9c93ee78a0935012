import type { ButtonHTMLAttributes } from "react";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "danger" | "quiet";
  /** What it began is under way: it cannot be pressed again, and says so. */
  busy?: boolean;
}

export function Button({ look, busy = false, className = "", children, ...rest }: Props) {
  const classes = ["button", look ?? "", className].filter((name) => name !== "").join(" ");
  return (
    <button
      type="button"
      {...rest}
      className={classes}
      disabled={busy || rest.disabled === true}
      aria-busy={busy}
    >
      {busy && <span className="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}
