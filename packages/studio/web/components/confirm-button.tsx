import * as Dialog from '@radix-ui/react-dialog';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useState } from 'react';

interface ConfirmButtonProps {
  /** The label of the button that opens the dialog, and of the button that confirms. */
  label: string;
  title: string;
  danger?: boolean;
  disabled?: boolean;
  /** If it rejects, the dialog shows the error and stays open. */
  onConfirm: () => Promise<unknown>;
  children?: ReactNode;
}

/** A button that asks for confirmation before it acts. */
export function ConfirmButton({
  label,
  title,
  danger = false,
  disabled = false,
  onConfirm,
  children,
}: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const action = useMutation({ mutationFn: onConfirm, onSuccess: () => setOpen(false) });
  const buttonClass = danger ? 'button danger' : 'button';
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(open) => {
        action.reset();
        setOpen(open);
      }}
    >
      <Dialog.Trigger className={buttonClass} disabled={disabled}>
        {label}
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="dialog-overlay" />
        <Dialog.Content className="dialog" aria-describedby={undefined}>
          <Dialog.Title className="dialog-title">{title}</Dialog.Title>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (!action.isPending) action.mutate();
            }}
          >
            {children}
            {action.error && (
              <p role="alert" className="error-text">
                {action.error.message}
              </p>
            )}
            <div className="dialog-buttons">
              <Dialog.Close className="button">Back</Dialog.Close>
              <button type="submit" className={`${buttonClass} primary`} disabled={action.isPending}>
                {label}
              </button>
            </div>
          </form>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
