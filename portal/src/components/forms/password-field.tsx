import { type ComponentProps, useEffect, useRef, useState } from "react";
import { Button } from "../button.tsx";
import { Field } from "./field.tsx";

type Props = Omit<ComponentProps<typeof Field>, "type" | "beside" | "autoComplete"> & {
  /** Which password the browser offers, or keeps. */
  autoComplete: "current-password" | "new-password";
};

/** A field for a password, which can be shown while it is typed. */
export function PasswordField(props: Props) {
  const [isShown, setShown] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  // Browsers keep the text of a field that is none for passwords among those that they propose later.
  useEffect(() => {
    const form = button.current?.form;
    const hide = () => setShown(false);
    form?.addEventListener("submit", hide);
    return () => form?.removeEventListener("submit", hide);
  }, []);
  return (
    <Field
      {...props}
      type={isShown ? "text" : "password"}
      autoCapitalize="off"
      spellCheck={false}
      required
      beside={
        <Button ref={button} onClick={() => setShown(!isShown)}>
          {isShown ? "Hide" : "Show"}
          <span className="visually-hidden">
            {" "}
            password{props.autoComplete === "new-password" && " (new)"}
          </span>
        </Button>
      }
    />
  );
}
