import { useEffect, useState } from "react";

let show: (text: string) => void = () => undefined;

/** Has screen readers read out the result of an action whose control has left the page. */
export const announce = (text: string): void => show(text);

/** The text of `announce`. It is on every page from the start: screen readers follow only regions that they know. */
export function Announcement() {
  const [text, setText] = useState("");
  useEffect(() => {
    show = setText;
  }, []);
  return (
    // An open dialog hides all of the page but this.
    <div className="visually-hidden" role="status" data-live-announcer="true">
      {text}
    </div>
  );
}
