import { type FormEvent, useState } from "react";
import { flushSync } from "react-dom";
import { Problem } from "../api/client.ts";

/**
 * The texts of a form, and what becomes of them.
 * @param send throws what went wrong
 * @param paths what the API calls the fields
 */
export function useForm<T extends Record<string, string>>(
  initial: T,
  send: (values: T) => Promise<void>,
  paths: readonly string[] = Object.keys(initial),
) {
  const [values, setValues] = useState(initial);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const fields = error instanceof Problem ? error.fields : new Map<string, string>();

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (busy) return;
    const form = event.currentTarget;
    setError(null);
    setBusy(true);
    try {
      await send(values);
    } catch (thrown) {
      // At once, so that the first field that is wrong is marked, and can have the focus.
      flushSync(() => setError(thrown));
      form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    } finally {
      setBusy(false);
    }
  }

  return {
    values,
    busy,
    submit,
    /** What is wrong with no field in particular. */
    error: fields.size > 0 && [...fields.keys()].every((name) => paths.includes(name)) ? null : error,
    /** What a field is given. @param path what the API calls it */
    field: (name: keyof T & string, path: string = name) => ({
      name,
      value: values[name] ?? "",
      onChange: (value: string) => setValues((old) => ({ ...old, [name]: value })),
      fault: fields.get(path),
    }),
    reset: () => setValues(initial),
  };
}
