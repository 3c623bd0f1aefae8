import { useRef } from 'react';

interface Rows {
  scrollToIndex: (index: number) => void;
}

/** Focuses a row that is possibly not mounted yet: it is scrolled into view, and focused once it is mounted. */
export function useRowFocus(active: number, setActive: (index: number) => void, rows: Rows) {
  const wanted = useRef<number>(undefined);
  const move = (target: number): void => {
    wanted.current = target;
    setActive(target);
    rows.scrollToIndex(target);
  };
  const rowRef = (index: number) => (element: HTMLElement | null) => {
    if (!element || index !== active || wanted.current !== index) return;
    wanted.current = undefined;
    element.focus({ preventScroll: true });
  };
  return { move, rowRef };
}
