import { CopyButton } from "./copy-button.tsx";

/** A secret that is shown only once. @param of name of the secret, for screen readers */
export function Secret({ value, of }: { value: string; of: string }) {
  return (
    <div className="stack">
      <code className="secret">{value}</code>
      <div className="row">
        <CopyButton text={value} of={of} />
        <span className="muted">Shown this once: keep it where your secrets are.</span>
      </div>
    </div>
  );
}
