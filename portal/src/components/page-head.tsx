import { type ReactNode, useEffect, useRef } from "react";

/** Until a link of the portal was followed the browser itself says where the reader is. */
let isFirstPage = true;

/**
 * Names the page in the browser's window and, when a link led here, moves the focus to its heading: who hears the page is
 * told that it is another one. What has the focus within the page keeps it.
 */
export function useTitle(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · rcpt`;
  }, [title]);
  useEffect(() => {
    if (isFirstPage) isFirstPage = false;
    else if (document.activeElement?.closest("main") == null) heading.current?.focus();
  }, []);
  return { ref: heading, tabIndex: -1 };
}

/** The heading of a page, and what stands beside it. */
export function PageHead({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="page-head">
      <h1 className="wrap-anywhere" {...useTitle(title)}>
        {title}
      </h1>
      {children}
    </div>
  );
}
