import { type ReactNode, useState } from "react";
import {
  Dialog,
  DialogTrigger,
  Heading,
  Modal,
  ModalOverlay,
  Button as TriggerButton,
} from "react-aria-components";
import { Button } from "./button.tsx";
import { Failure } from "./notice.tsx";

interface Props {
  /** Text of the button that opens it. */
  trigger: string;
  title: string;
  children: ReactNode;
  action: string;
  /** Text of the button that closes it without an action, when "Cancel" could be taken for the action. */
  dismissal?: string;
  /** Closes the dialog on success; an error is shown. */
  onConfirm(): Promise<void>;
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ trigger, title, children, action, dismissal = "Cancel", onConfirm }: Props) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  async function confirm(close: () => void): Promise<void> {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      close();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  return (
    <DialogTrigger onOpenChange={() => setError(null)}>
      <TriggerButton className="button danger">{trigger}</TriggerButton>
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
