import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { pushQuery, route } from '../../router.ts';
import { rememberedScroll, rememberScroll } from '../../ui/remembered-scroll.ts';

/** Returns the element with a file's changes. */
const fileElement = (id: string) => document.getElementById(`file-${id}`);

interface FileInView {
  /** Memory ID for the file below the sticky heads. */
  inView: ReadonlySignal<string | null>;
  /** Scrolls to a file, and puts it into the URL. */
  scrollTo: (id: string) => void;
}

/** Inputs with which a user may scroll. */
const INPUTS = ['wheel', 'touchmove', 'pointerdown', 'keydown'];

/**
 * Scrolls to the file in the URL, and follows the file in view. Until the user's next input, that file keeps its
 * place while the files around it load.
 *
 * @param isLoaded whether the files are on the page
 */
export function useFileInView(isLoaded: boolean): FileInView {
  const chosen = route.value.query.get('file');
  const inView = useSignal(chosen);
  const [shows, setShows] = useState(0);
  const isHeld = useRef(false);
  useLayoutEffect(() => {
    if (!isLoaded) return;
    const element = chosen === null ? null : fileElement(chosen);
    isHeld.current = element !== null;
    if (element === null) {
      scrollTo(0, rememberedScroll() ?? 0);
      inView.value = findFileInView();
      return;
    }
    inView.value = chosen;
    element.scrollIntoView();
    if (document.activeElement?.closest('.review-files') == null) element.focus({ preventScroll: true });
    const observer = new ResizeObserver(() => {
      if (isHeld.current) element.scrollIntoView();
    });
    observer.observe(element.closest('main') ?? element);
    return () => observer.disconnect();
  }, [isLoaded, chosen, shows]);
  useLayoutEffect(() => {
    const listeners = new AbortController();
    const { signal } = listeners;
    const release = () => {
      isHeld.current = false;
    };
    // The capture phase and the first registration precede the keys that choose another file.
    for (const input of INPUTS) addEventListener(input, release, { signal, passive: true, capture: true });
    const onScroll = () => {
      rememberScroll();
      if (!isHeld.current) inView.value = findFileInView();
    };
    addEventListener('scroll', onScroll, { signal });
    return () => listeners.abort();
  }, []);
  const scrollToFile = (id: string) => {
    pushQuery({ file: id });
    setShows(shows + 1);
  };
  return { inView, scrollTo: scrollToFile };
}

/** Returns the memory ID for the file below the sticky heads. */
function findFileInView(): string | null {
  const files = [...document.querySelectorAll('.changed-file')];
  const [first] = files;
  if (first === undefined) return null;
  // Some space for rounding.
  const top = Number.parseFloat(getComputedStyle(first).scrollMarginTop) + 8;
  return (files.findLast((file) => file.getBoundingClientRect().top <= top) ?? first).id.replace('file-', '');
}
