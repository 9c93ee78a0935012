import type { ReactNode } from "react";
import { useTitle } from "./page-head.tsx";

/** A page for people who are not signed in. */
export function Entrance({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="entrance">
      <main>
        <p className="brand">rcpt</p>
        <h1 {...useTitle(title)}>{title}</h1>
        {children}
      </main>
    </div>
  );
}
