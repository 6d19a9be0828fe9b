import type { Page } from 'playwright-core';

const MAX_TEXT = 3000;
const MAX_REQUESTS = 20;
/** Limit for a page whose renderer does not respond. */
const TIMEOUT_MS = 5000;

/** Describes a page after a failed test: its URL, its last requests with their statuses, and its text. */
export async function describePage(page: Page): Promise<string> {
  const text = await withTimeout(page.evaluate('document.body.innerText').then(String));
  const requests = await withTimeout(listRequests(page));
  return `${page.url()}\n${requests}\n${text.slice(0, MAX_TEXT)}`;
}

async function listRequests(page: Page): Promise<string> {
  const requests = (await page.requests()).slice(-MAX_REQUESTS);
  return requests
    .map((request) => {
      const outcome = request.existingResponse()?.status() ?? request.failure()?.errorText ?? 'no response';
      return `${request.method()} ${request.url()}: ${outcome}`;
    })
    .join('\n');
}

/** Returns the result, or the reason why there is none. */
async function withTimeout(result: Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, TIMEOUT_MS, `(the page did not respond within ${TIMEOUT_MS} ms)`);
  });
  try {
    return await Promise.race([result.catch((error: Error) => `(${error.message})`), late]);
  } finally {
    clearTimeout(timer);
  }
}
