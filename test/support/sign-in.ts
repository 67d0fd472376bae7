// What a person does with a sign-in link: opens it in a browser and sends the form.
import { isObject, type JsonObject } from './upstreams/message.ts';

export interface FormReply {
  readonly status: number;
  readonly text: string;
}

/** The link in a result of ours, whichever result that is. */
export function linkIn(result: JsonObject): string {
  const { structuredContent } = result;
  if (!isObject(structuredContent) || typeof structuredContent['url'] !== 'string') throw new Error('There is no link');
  return structuredContent['url'];
}

export async function openLink(url: string): Promise<FormReply> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  return { status: response.status, text: await response.text() };
}

/** As a browser sends the page's own form. */
export async function postKey(url: string, secret: string): Promise<FormReply> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: new URL(url).origin,
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams({ secret }).toString(),
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, text: await response.text() };
}
