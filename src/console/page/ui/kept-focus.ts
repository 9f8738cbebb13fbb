import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * Moves the focus to an element if the one that had it was removed, so that people with a keyboard or a screen reader stay where they are.
 *
 * @param changes values whose change may remove it
 */
export function useKeptFocus(place: RefObject<HTMLElement | null>, changes: readonly unknown[]): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && document.activeElement === document.body) place.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, changes as unknown[]);
}
