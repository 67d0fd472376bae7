// Every text that somebody else chooses, full of markup, on every page that shows one, in a real browser (T25). The
// pages are the real ones; what stands behind them is in memory, so that each text can be whatever it likes.
import { describe, expect, it } from 'vitest';
import { type ConsentSite, openConsentSite } from '../consent/a-consent-site.ts';
import { callbackOf } from '../consent/ways-in.ts';
import { aServer } from '../credential/in-memory.ts';
import { hasBrowser, NEEDS_BROWSER, type Person, usePeople } from './chromium.ts';
import { harmIn } from './harm.ts';

const people = usePeople();

const MARKUP: readonly string[] = [
  `<script>ran=1;alert(1)</script>`,
  `"><img src=x onerror=ran=1>`,
  `'><svg/onload=ran=1>`,
  `</title></h1></bdi><script>ran=1</script>`,
  `<iframe srcdoc="<script>parent.ran=1</script>"></iframe>`,
  `<meta http-equiv=refresh content="0;url=https://evil.example/">`,
  `<base href=https://evil.example/>`,
  `<link rel=stylesheet href=https://evil.example/x.css>`,
  `<style>*{display:none}</style>`,
  `</form><form action=https://evil.example/ method=post>`,
  `" formaction=https://evil.example/ x="`,
  `" autofocus onfocus=ran=1 x="`,
  `<a href=javascript:ran=1 autofocus onfocus=ran=1>x</a>`,
  `<details open ontoggle=ran=1>x`,
  `<object data=javascript:ran=1></object><embed src=javascript:ran=1>`,
  `<scr<script>ipt>ran=1</scr</script>ipt>`,
  `<!--><img src=x onerror=ran=1>-->`,
  `<![CDATA[><img src=x onerror=ran=1>]]>`,
  `&lt;img src=x onerror=ran=1&gt;&#60;script&#62;ran=1&#60;/script&#62;`,
  '`${ran=1}`{{constructor.constructor("ran=1")()}}',
  `javascript:ran=1`,
  `data:text/html,<script>ran=1</script>`,
  `＜script＞ran=1＜/script＞`,
  `\u202e<script>ran=1</script>\u202c`,
];

/** Three in one text, which is a third of the visits; whichever is not escaped is found. */
const TEXTS = MARKUP.flatMap((_, at) => (at % 3 === 0 ? [MARKUP.slice(at, at + 3).join(' ')] : []));

interface World extends AsyncDisposable {
  readonly site: ConsentSite;
  /** Whether the server takes the key. */
  takesKeys: boolean;
}

async function worldOf(kind: 'secret' | 'oauth', text: string): Promise<World> {
  const bare = aServer({ credential: { kind } });
  const credential = bare.credential && { ...bare.credential, label: text, help: text };
  const server = { ...bare, title: text, description: text, credential };
  let takesKeys = false;
  const site = await openConsentSite(server, {
    tenant: { name: text },
    tryKey: async () => (takesKeys ? { ok: true, toolCount: 1 } : { ok: false, reason: text }),
    listCredentials: async () => [{ server, connectedAt: 0, account: text, isOver: false }],
  });
  site.flows.preview_ = { issuer: text, scopes: [text] };
  return {
    site,
    get takesKeys() {
      return takesKeys;
    },
    set takesKeys(value) {
      takesKeys = value;
    },
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

/** As people read it: blanks run together, and control characters show as nothing. */
const read = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

async function showsUnharmed(person: Person, text: string, times: number, where: string): Promise<void> {
  expect(await harmIn(person), where).toEqual([]);
  const words = read(await person.reads());
  expect(words.split(read(text)).length - 1, `${where}: ${words}`).toBeGreaterThanOrEqual(times);
}

/** The form is sent without a browser's redirects, and the answer of the other site is put in its place. */
async function endWith(person: Person, { origin }: ConsentSite, link: string, said: string): Promise<void> {
  const html = await (await person.page.request.get(origin + link)).text();
  const field = (name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
  const going = await person.page.request.post(origin + link, {
    form: { csrf: field('csrf'), shown: field('shown') },
    maxRedirects: 0,
  });
  const location = going.headers()['location'] ?? '';
  await person.open(
    origin + callbackOf({ onward: location } as never, { code: said, error: said, error_description: said, iss: said }),
  );
}

describe.skipIf(!hasBrowser)(NEEDS_BROWSER, { timeout: 60_000 }, () => {
  it.each(TEXTS)('%s is text: where a key is pasted', async (text) => {
    await using world = await worldOf('secret', text);
    const { site } = world;
    const ada = await people.somebody();
    await ada.open(site.origin + (await site.link(text)));
    // Heading, server, label, and the person in their tenant twice.
    await showsUnharmed(ada, text, 5, 'the form');
    await ada.page.locator('#secret').fill('key');
    await ada.page.locator('form button').click();
    await ada.page.locator('#problem').waitFor();
    await showsUnharmed(ada, text, 6, 'the key was not taken');
    world.takesKeys = true;
    await ada.page.locator('#secret').fill('key');
    await ada.page.locator('form button').click();
    await ada.sees('Go back to your agent');
    await showsUnharmed(ada, text, 1, 'connected');
    await ada.open(`${site.origin}/connections`);
    await showsUnharmed(ada, text, 4, 'what is connected');
    await ada.open(site.origin + (await site.link('bob')));
    await showsUnharmed(ada, text, 1, 'the link of somebody else');
  });

  it.each(TEXTS)('%s is text: where one signs in elsewhere', async (text) => {
    await using world = await worldOf('oauth', text);
    const { site } = world;
    const ada = await people.somebody();
    const link = await site.link(text);
    await ada.open(site.origin + link);
    await showsUnharmed(ada, text, 6, 'the page before');
    for (const end of [{ kind: 'failed', reason: text }, { kind: 'denied' }, { kind: 'connected' }] as const) {
      site.flows.end = end;
      await endWith(ada, site, await site.link(text), text);
      await showsUnharmed(ada, text, 1, end.kind);
    }
  });
});
