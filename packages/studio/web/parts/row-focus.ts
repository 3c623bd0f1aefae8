import { useRef } from 'react';

interface RowScroller {
  scrollToIndex: (index: number) => void;
}

/**
 * Returns `move`, which scrolls a row into view and focuses it, and `rowRef`, the ref of each row. A row that is not
 * mounted yet is focused when it is mounted.
 */
export function useRowFocus(
  activeIndex: number,
  setActiveIndex: (index: number) => void,
  scroller: RowScroller,
) {
  const pendingFocus = useRef<number>(undefined);
  const move = (target: number): void => {
    pendingFocus.current = target;
    setActiveIndex(target);
    scroller.scrollToIndex(target);
  };
  const rowRef = (index: number) => (element: HTMLElement | null) => {
    if (!element || index !== activeIndex || pendingFocus.current !== index) return;
    pendingFocus.current = undefined;
    element.focus({ preventScroll: true });
  };
  return { move, rowRef };
}
