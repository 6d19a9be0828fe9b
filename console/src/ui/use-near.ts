import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Distance from the screen, in pixels, at which content is rendered. */
const MARGIN = '800px';

/**
 * Tells whether an element is near the screen, and its last height in pixels.
 *
 * @param estimatedHeight height in pixels until the element is measured
 */
export function useNear(estimatedHeight: number) {
  const body = useRef<HTMLDivElement>(null);
  const [state, setState] = useState({ isNear: false, height: estimatedHeight });
  useLayoutEffect(() => {
    const { current: element } = body;
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        if (last !== undefined)
          setState({ isNear: last.isIntersecting, height: last.boundingClientRect.height });
      },
      { root: element.closest('.diff-files'), rootMargin: MARGIN },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { body, ...state };
}
