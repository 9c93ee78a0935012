/** Characters that turn the direction of the text behind them: a name must not look like another one. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** The same without what could make it look like another text: for titles, options and other places without markup. */
export const shownText = (text: string): string => text.replace(TURNING, "\ufffd");

/** A text that people, files or servers wrote: it is shown as text, and turns nothing around it. */
export function ForeignText({ children }: { children: string }) {
  return <bdi className="wrap-anywhere">{shownText(children)}</bdi>;
}

/** The same for an address, which breaks behind its last @ first. */
export function AddressText({ children }: { children: string }) {
  const text = shownText(children);
  const behind = text.lastIndexOf("@") + 1;
  return (
    <bdi className="wrap-anywhere">
      {text.slice(0, behind)}
      <wbr />
      {text.slice(behind)}
    </bdi>
  );
}
