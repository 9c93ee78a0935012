import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { shownText } from "./foreign-text.tsx";

const SHOWN_MS = 2_000;

/** Copies a text to the clipboard, and confirms it. @param of name of the text, for screen readers */
export function CopyButton({ text, of }: { text: string; of: string }) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  const label = { idle: "Copy", copied: "Copied", failed: "Select and copy by hand" }[state];
  return (
    <Button onClick={copy}>
      {label}
      <span className="visually-hidden"> {shownText(of)}</span>
      <span className="visually-hidden" role="status">
        {state === "copied" ? "Copied" : ""}
      </span>
    </Button>
  );
}
