// Steps of a person through the pages, one at a time, so that a step can be delivered to somebody else.
import type { TestApp } from '../support/app.ts';
import type { Browser } from '../support/sign-in/browser-jar.ts';

/** Agrees on the page that is open, and stops before the authorization server is asked. */
export async function agree({ page, cookies }: Browser): Promise<string> {
  const url = new URL(page.url);
  const cookie = cookies.header(url, { sameSite: true, method: 'POST' });
  const response = await fetch(url, {
    method: 'POST',
    headers: { origin: 'null', 'sec-fetch-site': 'same-origin', ...(cookie === undefined ? {} : { cookie }) },
    body: new URLSearchParams([...(page.forms[0]?.fields ?? [])]),
    redirect: 'manual',
    signal: AbortSignal.timeout(10_000),
  });
  for (const one of response.headers.getSetCookie()) cookies.take(url, one);
  const onward = response.headers.get('location');
  if (onward === null) throw new Error(`The page does not go on: ${response.status} ${await response.text()}`);
  return onward;
}

/** The callback that the authorization server answers with, not opened yet. */
export async function answerOf(authorizationUrl: string): Promise<string> {
  const response = await fetch(authorizationUrl, { redirect: 'manual', signal: AbortSignal.timeout(5_000) });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`No answer: ${response.status} ${await response.text()}`);
  return location;
}

/** Opens a link with this browser, as far as the address of the product that proves people. */
export async function departure(browser: Browser, url: string): Promise<string> {
  const cookie = browser.cookies.header(new URL(url), { sameSite: true, method: 'GET' });
  const response = await fetch(url, {
    redirect: 'manual',
    headers: cookie === undefined ? {} : { cookie },
    signal: AbortSignal.timeout(5_000),
  });
  for (const one of response.headers.getSetCookie()) browser.cookies.take(new URL(url), one);
  const onward = response.headers.get('location');
  if (response.status !== 303 || onward === null) throw new Error(`It sends nobody away: ${response.status}`);
  return onward;
}

/** The same address on another node. */
export function at(node: TestApp, url: string): string {
  const { pathname, search } = new URL(url);
  return `${node.url}${pathname}${search}`;
}

/** As the product's server says who sits in front of the browser; gives the address to come back to. */
export async function confirmFlow(
  node: TestApp,
  verifyUrl: string,
  principal: string,
  key: string,
): Promise<{ readonly status: number; readonly url: string }> {
  const response = await fetch(`${node.url}/connect/handoff`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ flow: new URL(verifyUrl).searchParams.get('flow'), principal }),
    signal: AbortSignal.timeout(5_000),
  });
  const body = (await response.json()) as { readonly continue?: string };
  return { status: response.status, url: body.continue ?? '' };
}
