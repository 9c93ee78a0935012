import { type FormEvent, useState } from "react";
import { flushSync } from "react-dom";
import { Problem } from "../../api/client.ts";

/** State and submission of a form's texts. @param send throws the failure @param paths names of the fields in the API */
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
      // Rendered synchronously, so that the first wrong field is marked and can get the focus.
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
    /** The error, unless the fields show all of it. */
    error: fields.size > 0 && [...fields.keys()].every((name) => paths.includes(name)) ? null : error,
    /** Props of a field. @param path its name in the API */
    field: (name: keyof T & string, path: string = name) => ({
      name,
      value: values[name] ?? "",
      onChange: (value: string) => setValues((old) => ({ ...old, [name]: value })),
      fault: fields.get(path),
    }),
    reset: () => setValues(initial),
  };
}
