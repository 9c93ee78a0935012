import { type ComponentProps, useState } from "react";
import { Button } from "../button.tsx";
import { Field } from "./field.tsx";

type Props = Omit<ComponentProps<typeof Field>, "type" | "beside" | "autoComplete"> & {
  /** Which password the browser offers, or keeps. */
  autoComplete: "current-password" | "new-password";
};

/** A field for a password, which can be shown while it is typed. */
export function PasswordField(props: Props) {
  const [isShown, setShown] = useState(false);
  return (
    <Field
      {...props}
      type={isShown ? "text" : "password"}
      autoCapitalize="off"
      spellCheck={false}
      required
      beside={
        <Button onClick={() => setShown(!isShown)}>
          {isShown ? "Hide" : "Show"}
          <span className="visually-hidden"> password</span>
        </Button>
      }
    />
  );
}
