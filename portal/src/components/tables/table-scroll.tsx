import type { ReactNode } from "react";

/** A table that may be wider than the page: it scrolls within itself, by keyboard too. */
export function TableScroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="table-scroll" tabIndex={0} aria-label={label}>
      <table>{children}</table>
    </section>
  );
}
