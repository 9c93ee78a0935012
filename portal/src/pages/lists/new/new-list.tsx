import { Link } from "@tanstack/react-router";
import { Paste } from "./paste.tsx";

/** Where a list comes from: a file, or text. */
export function NewListPage() {
  return (
    <>
      <div>
        <Link to="/lists">All lists</Link>
        <h1>New list</h1>
      </div>
      <section className="card" aria-labelledby="paste">
        <h2 id="paste">Paste addresses</h2>
        <Paste onFile={() => {}} />
      </section>
    </>
  );
}
