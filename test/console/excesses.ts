/**
 * Returns the elements that extend beyond the window, and the cells whose content extends into the next cell. A chart
 * adapts to a new width in the next frame. The function is a string, because it runs in the page.
 */
export const EXCESSES = `(async () => {
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const width = document.documentElement.clientWidth;
  const describe = (element) => element.tagName + ' ' + element.className + ' ' + element.textContent.slice(0, 40);
  const shown = [...document.querySelectorAll('td, th, a, button, input, select, h1, h2, .card, .pane')].filter(
    (element) => element.checkVisibility() && !element.closest('.visually-hidden'),
  );
  return [
    ...(document.documentElement.scrollWidth > width ? ['the page'] : []),
    ...shown.filter((element) => element.getBoundingClientRect().right > width + 1).map(describe),
    ...shown.filter(({ tagName, scrollWidth, clientWidth }) => tagName.startsWith('T') && scrollWidth > clientWidth + 1)
      .map((cell) => 'cell ' + describe(cell)),
  ];
})()`;
