import { useRef } from 'react';

interface Rows {
  scrollToIndex: (index: number) => void;
}

/** Returns functions that move the focus to a row. If the row is not mounted yet, it is scrolled into view first. */
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
