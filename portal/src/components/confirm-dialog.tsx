import { type ReactNode, useRef, useState } from "react";
import {
  Dialog,
  DialogTrigger,
  Heading,
  Modal,
  ModalOverlay,
  Button as TriggerButton,
} from "react-aria-components";
import { announce } from "./announcement.tsx";
import { Button } from "./button.tsx";
import { useFocusAfterRemoval } from "./focus-after-removal.ts";
import { Failure } from "./notice.tsx";

interface Props {
  /** Text of the button that opens it. */
  trigger: string;
  title: string;
  children: ReactNode;
  action: string;
  /** Text of the button that closes it without an action, when "Cancel" could be taken for the action. */
  dismissal?: string;
  /** Read out after the action, such as "The key x was revoked."; absent: the page itself says it. */
  done?: string;
  /** Closes the dialog on success; an error is shown. */
  onConfirm(): Promise<void>;
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog(props: Props) {
  const { trigger, title, children, action, dismissal = "Cancel", done, onConfirm } = props;
  const opener = useRef<HTMLButtonElement>(null);
  const keepFocusNear = useFocusAfterRemoval(opener);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  async function confirm(close: () => void): Promise<void> {
    setBusy(true);
    setError(null);
    keepFocusNear();
    try {
      await onConfirm();
      close();
      if (done !== undefined) announce(done);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  return (
    <DialogTrigger onOpenChange={() => setError(null)}>
      <TriggerButton ref={opener} className="button danger">
        {trigger}
      </TriggerButton>
      <ModalOverlay className="overlay" isDismissable={!busy} isKeyboardDismissDisabled={busy}>
        <Modal className="modal">
          <Dialog role="alertdialog" className="stack">
            {({ close }) => (
              <>
                <Heading slot="title">{title}</Heading>
                {children}
                <Failure error={error} />
                <div className="row">
                  <Button look="danger" busy={busy} onClick={() => void confirm(close)}>
                    {action}
                  </Button>
                  <Button onClick={close} disabled={busy}>
                    {dismissal}
                  </Button>
                </div>
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
