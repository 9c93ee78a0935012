/** Characters that turn the direction of what follows them: a name must not look like another one. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** The same without what could make it look like another text. */
export const shownText = (text: string): string => text.replace(TURNING, "\ufffd");

/** A text of strangers, such as a file's name or a cell of a list: whatever it holds, it is shown as text, by itself. */
export function ForeignText({ children }: { children: string }) {
  return <bdi className="wrap-anywhere">{shownText(children)}</bdi>;
}
