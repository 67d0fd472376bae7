// A person who opens a sign-in link, reads the page, says yes, and goes wherever the browser is sent.
import { setTimeout as sleep } from 'node:timers/promises';
import { buildConnector, Agent as Connections, setGlobalDispatcher } from 'undici';
import { type Browser, type Hop, type Page } from '../test/support/sign-in/browser-jar.ts';

export interface SignIn {
  readonly page: Page;
  readonly isConnected: boolean;
  /** What Keybearer sent the browser to the authorization server with. */
  readonly request: URLSearchParams;
}

/** Pages that go on by themselves, in one sign-in. */
const MAX_ONWARD = 5;

/** From the link to the page that tells how it ended. */
export async function signIn(browser: Browser, link: string): Promise<SignIn> {
  let page = await browser.open(link);
  const hops: Hop[] = [];
  if (page.status === 200 && page.forms.length > 0) page = await browser.submit();
  for (let pages = 0; pages < MAX_ONWARD; pages++) {
    hops.push(...page.hops);
    const [, seconds, url] = /^(\d+); *url=(.*)$/u.exec(page.headers.get('refresh') ?? '') ?? [];
    if (url === undefined) break;
    await sleep(Number(seconds) * 1000);
    page = await browser.follow(url);
  }
  const queries = hops.map(({ url }) => new URL(url).searchParams);
  return {
    page,
    isConnected: page.status === 200 && page.text.includes('<title>Connected</title>'),
    request: queries.find((query) => query.has('code_challenge')) ?? new URLSearchParams(),
  };
}

/**
 * From now on this process reaches `publicUrl`, which is made up, where Keybearer listens: what a name
 * server and a TLS terminator do elsewhere.
 */
export function standInFor(publicUrl: string, listeningAt: string): void {
  const { hostname } = new URL(publicUrl);
  const { hostname: realName, port } = new URL(listeningAt);
  const connect = buildConnector({});
  setGlobalDispatcher(
    new Connections({
      connect: (options, callback) =>
        connect(
          options.hostname === hostname ? { ...options, protocol: 'http:', hostname: realName, port } : options,
          callback,
        ),
    }),
  );
}
