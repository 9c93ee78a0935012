import type { ComponentProps } from "react";

interface Props extends ComponentProps<"button"> {
  look?: "primary" | "danger" | "quiet";
  /** The action of the button is in progress: it cannot be pressed again, shows that, and keeps the focus. */
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
