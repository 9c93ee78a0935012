import { type RefObject, useEffect, useRef } from "react";

/** The sections around an element, the innermost first, then the heading of the page. */
function placesAround(element: Element): HTMLElement[] {
  const places: HTMLElement[] = [];
  for (let at = element.closest("section"); at !== null; at = at.parentElement?.closest("section") ?? null)
    places.push(at);
  const heading = document.querySelector("h1");
  return heading === null ? places : [...places, heading];
}

/**
 * Keeps the focus near a control that its own action removes, such as the button of a table's row: without this the focus
 * falls to the page's body.
 * @returns to be called before the action
 */
export function useFocusAfterRemoval(control: RefObject<Element | null>): () => void {
  const places = useRef<HTMLElement[]>([]);
  useEffect(
    () => () => {
      const left = places.current;
      // By then the elements have left the page, and the focus with them, unless something else has it.
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return;
        const place = left.find(({ isConnected }) => isConnected);
        if (place === undefined) return;
        if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
        place.focus();
      });
    },
    [],
  );
  return () => {
    places.current = control.current === null ? [] : placesAround(control.current);
  };
}
