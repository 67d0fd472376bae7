// The product of a tenant with mode `handoff`: it has a session of its own with each of its people, and says to
// the proxy, server to server, who sits in front of a browser.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, readBody } from '../support/upstreams/listener.ts';

export interface TenantProduct {
  readonly verifyUrl: string;
  readonly key: string;
  close(): Promise<void>;
}

const KEY = 'key-of-the-product';
const COOKIE = /(?:^|; )product_session=([^;]+)/;

/** `proxyUrl`: where its back end reaches the proxy. */
export async function startTenantProduct(proxyUrl: string): Promise<TenantProduct> {
  const listener = await listen((req, res) => {
    serve(req, res, proxyUrl).catch(() => res.destroy());
  });
  return { verifyUrl: `${new URL(listener.url).origin}/verify`, key: KEY, close: () => listener.close() };
}

async function serve(req: IncomingMessage, res: ServerResponse, proxyUrl: string): Promise<void> {
  const here = req.url ?? '/';
  if (req.method === 'POST') {
    const name = new URLSearchParams(await readBody(req)).get('name') ?? '';
    const cookie = `product_session=${encodeURIComponent(name)}; Path=/; HttpOnly; SameSite=Lax`;
    return void res.writeHead(303, { location: here, 'set-cookie': cookie }).end();
  }
  const name = COOKIE.exec(req.headers.cookie ?? '')?.[1];
  if (name === undefined) return showSignIn(res);
  const flow = new URL(here, 'http://product.invalid').searchParams.get('flow');
  const response = await fetch(`${proxyUrl}/connect/handoff`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ flow, principal: decodeURIComponent(name) }),
    signal: AbortSignal.timeout(5_000),
  });
  const { continue: onward } = (await response.json()) as { readonly continue?: string };
  if (onward === undefined) res.writeHead(502).end('The proxy does not know this flow.');
  else res.writeHead(303, { location: onward }).end();
}

function showSignIn(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  res.end(`<!doctype html><html lang="en"><title>The product</title><h1>The product</h1>
<form method="post"><label>Name <input name="name" required autofocus></label><button>Sign in</button></form></html>`);
}
