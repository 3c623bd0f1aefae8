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
  const pendingFocusIndex = useRef<number>(undefined);
  const move = (targetIndex: number): void => {
    pendingFocusIndex.current = targetIndex;
    setActiveIndex(targetIndex);
    scroller.scrollToIndex(targetIndex);
  };
  const rowRef = (index: number) => (element: HTMLElement | null) => {
    if (!element || index !== activeIndex || pendingFocusIndex.current !== index) return;
    pendingFocusIndex.current = undefined;
    element.focus({ preventScroll: true });
  };
  return { move, rowRef };
}
