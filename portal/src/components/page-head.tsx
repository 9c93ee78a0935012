import { type ReactNode, useEffect, useRef } from "react";
import { ForeignText, shownText } from "./foreign-text.tsx";

/** True until the first link is followed: the browser itself announces the first page. */
let isFirstPage = true;

/**
 * Sets the window's title. After a link it moves the focus to the page's heading, so that screen readers announce the new
 * page. A focused element within the page keeps the focus.
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
