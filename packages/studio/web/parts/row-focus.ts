import { useRef } from 'react';

interface Rows {
  scrollToIndex: (index: number) => void;
}

/**
 * Returns `move`, which scrolls a row into view and focuses it, and `rowRef`, the ref of each row. A row that is not
 * mounted yet is focused when it is mounted.
 */
export function useRowFocus(active: number, setActive: (index: number) => void, rows: Rows) {
  const pendingFocus = useRef<number>(undefined);
  const move = (target: number): void => {
    pendingFocus.current = target;
    setActive(target);
    rows.scrollToIndex(target);
  };
  const rowRef = (index: number) => (element: HTMLElement | null) => {
    if (!element || index !== active || pendingFocus.current !== index) return;
    pendingFocus.current = undefined;
    element.focus({ preventScroll: true });
  };
  return { move, rowRef };
}
