// How somebody comes before the pages, in each of the three modes.
import type { SignIn } from '../../src/identity/tenant-store.ts';
import type { ConsentSite } from './a-consent-site.ts';
import type { Jar, Seen } from './a-jar.ts';

export const MODES: Readonly<Record<'link' | 'oidc' | 'handoff', SignIn>> = {
  link: { mode: 'link' },
  oidc: { mode: 'oidc', issuer: 'https://idp.example', clientId: 'kb', clientSecret: 'sealed:clientSecret:hush' },
  handoff: { mode: 'handoff', verifyUrl: 'https://saas.example/verify?from=kb', key: 'sealed:key:saas-key' },
};

export const queryOf = (url: string): URLSearchParams => new URL(url, 'http://x').searchParams;

/** What the provider sends the browser back to. */
export function oidcReturn(departed: Seen, who: string): string {
  return `/connect/callback/acme?${String(new URLSearchParams({ state: queryOf(departed.location || departed.onward).get('state') ?? '', code: who }))}`;
}

/** What the product's server says, and what it gets. */
export async function confirmFlow(
  site: ConsentSite,
  body: Readonly<Record<string, unknown>>,
  key = 'saas-key',
): Promise<{ status: number; body: Readonly<Record<string, unknown>> }> {
  const response = await fetch(`${site.origin}/connect/handoff`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

export async function handoffReturn(site: ConsentSite, departed: Seen, who: string): Promise<string> {
  const flow = queryOf(departed.location || departed.onward).get('flow');
  const { body } = await confirmFlow(site, { flow, principal: who });
  const { pathname, search } = new URL(String(body['continue']));
  return pathname + search;
}

/** `who` opens a link and is proved; ends with the page behind the link, or the refusal of it. */
export async function enter(site: ConsentSite, jar: Jar, link: string, who: string): Promise<Seen> {
  const first = await jar.open(link);
  if (first.status !== 303) return first;
  const back = site.signIn.mode === 'oidc' ? oidcReturn(first, who) : await handoffReturn(site, first, who);
  const returned = await jar.open(back);
  return returned.status === 303 ? jar.open(returned.location) : returned;
}

/** The path that the authorization server sends the browser back to after it was sent on by this page. */
export function callbackOf(going: Seen, answer: Readonly<Record<string, string>> = { code: 'c0de' }): string {
  return `/oauth/callback/ctx-notes?${String(new URLSearchParams({ ...answer, state: queryOf(going.onward).get('state') ?? '' }))}`;
}
