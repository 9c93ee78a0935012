import { type ReactNode, useEffect, useRef } from "react";
import { ForeignText, shownText } from "./foreign-text.tsx";

/** True until the first link is followed: the browser itself announces the first page. */
let isFirstPage = true;

/**
 * Names the page in the browser's window and, when a link led here, moves the focus to its heading, so that screen readers
 * say that it is another page. What has the focus within the page keeps it.
 */
export function useTitle(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${shownText(title)} · rcpt`;
  }, [title]);
  useEffect(() => {
    if (isFirstPage) isFirstPage = false;
    else if (document.activeElement?.closest("main") == null) heading.current?.focus();
  }, []);
  return { ref: heading, tabIndex: -1 };
}

/** The heading of a page, and the elements beside it. */
export function PageHead({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="page-head">
      <h1 {...useTitle(title)}>
        <ForeignText>{title}</ForeignText>
      </h1>
      {children}
    </div>
  );
}
