import type { ComponentChild, ComponentChildren, RefObject } from 'preact';
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

/** A part of the page that takes the focus if the element in it that had the focus is replaced. */
export function KeptPlace({ children }: { children: ComponentChildren }): ComponentChild {
  const place = useRef<HTMLDivElement>(null);
  // Read before the change: where nothing had the focus, Tab begins at the top of the page.
  const hadFocus = place.current?.contains(document.activeElement) === true;
  useEffect(() => {
    if (hadFocus && document.activeElement === document.body) place.current?.focus({ preventScroll: true });
  });
  return (
    <div ref={place} class="view" tabIndex={-1}>
      {children}
    </div>
  );
}
