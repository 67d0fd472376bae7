// T15, in the browser: what one person was given on the way through a sign-in is, in the hands of every stranger,
// answered as one that never was, and nothing is stored or used up. Where it is not, the table says why.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { linkIn } from '../support/sign-in.ts';
import { agree, answerOf, confirmFlow, departure } from './pages-walk.ts';

const scene = useScene();
const TENANT_KEYS = ['key-of-the-first-product', 'key-of-the-second-product'] as const;

const STRANGERS = ['another person', 'another tenant', 'nobody'] as const;
type StrangerName = (typeof STRANGERS)[number];

/** A browser with its person, and a link of that person's own. */
interface Visitor {
  readonly browser: Browser;
  readonly link: string;
  readonly csrf: string;
  readonly productKey: string;
}

interface Stage {
  readonly owner: Visitor;
  readonly strangers: Readonly<Record<StrangerName, Visitor>>;
  readonly tenants: readonly TenantSide[];
  /** Of the owner: where the authorization server sends the browser, not opened yet. */
  readonly callback: string;
  readonly attempt: string;
  /** Of the owner, in another tab that is on its way to be proved. */
  readonly flow: string;
  readonly code: string;
  readonly tokenRequests: () => number;
}

const fieldOf = (browser: Browser, name: string): string =>
  browser.page.forms.flatMap(({ fields }) => [...fields]).find(([key]) => key === name)?.[1] ?? '';

const linkOf = async (tenant: TenantSide, principal: string, server: string): Promise<string> =>
  linkIn(await (await tenant.raw('rawLegacy', principal)).callTool(`${server}__connect`));

async function visitor(tenant: TenantSide, principal: string, productKey: string): Promise<Visitor> {
  const browser = new Browser();
  const link = await linkOf(tenant, principal, 'pasted');
  const back = await confirmFlow(scene.app, await departure(browser, link), principal, productKey);
  await browser.open(back.url);
  const csrf = fieldOf(browser, 'csrf');
  expect(csrf, 'the form of a person who was proved').not.toBe('');
  return { browser, link, csrf, productKey };
}

async function stage(): Promise<Stage> {
  const { as, tenant } = await signInWorld(scene, 'modern');
  const upstream = await scene.keyed('legacy');
  const tenants = [tenant, await scene.tenant({})] as const;
  for (const [at, { id, put }] of tenants.entries()) {
    await put('pasted', withKeys(upstream));
    const signIn = { mode: 'handoff', verifyUrl: 'http://127.0.0.1:9/verify', key: TENANT_KEYS[at] };
    await scene.app.adminOk('PATCH', `/tenants/${id}`, { signIn });
  }
  const owner = await visitor(tenant, 'ada', TENANT_KEYS[0]);
  const strangers = {
    'another person': await visitor(tenant, 'bob', TENANT_KEYS[0]),
    'another tenant': await visitor(tenants[1], 'ada', TENANT_KEYS[1]),
    nobody: { ...owner, browser: new Browser(), productKey: randomId() },
  };
  await owner.browser.open(await linkOf(tenant, 'ada', 'notes'));
  const callback = await answerOf(await agree(owner.browser));
  const [attempt] = await scene.app.sql(
    "SELECT encode(state_hash, 'hex') AS hash FROM sign_in_attempts WHERE tenant_id = $1",
    [tenant.id],
  );
  // Two tabs on their way: one that nobody has confirmed yet, and one on its way back.
  const tab = async (): Promise<string> => departure(owner.browser, `${owner.link}?as=another`);
  const back = await confirmFlow(scene.app, await tab(), 'ada', TENANT_KEYS[0]);
  return {
    owner,
    strangers,
    tenants,
    callback,
    attempt: Buffer.from(String(attempt?.['hash']), 'hex').toString('base64url'),
    flow: new URL(await tab()).searchParams.get('flow') ?? '',
    code: new URL(back.url).searchParams.get('code') ?? '',
    tokenRequests: () => as.seen.token.length,
  };
}

const randomId = (): string => randomBytes(32).toString('base64url');
/** As long as the real one. */
const randomLike = (text: string): string => randomId().repeat(4).slice(0, text.length);

interface Asked {
  readonly path: string;
  readonly cookie?: string | undefined;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: { readonly body: unknown; readonly key: string };
}

/** Everything of an answer that could tell, but for the time and for what each answer has of its own. */
async function seen({ path, cookie, form, json }: Asked, id: string): Promise<unknown> {
  const body = form === undefined ? json && JSON.stringify(json.body) : new URLSearchParams(form).toString();
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const response = await fetch(`${scene.app.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    redirect: 'manual',
    headers: {
      ...(cookie === undefined ? {} : { cookie }),
      ...(body === undefined ? {} : { 'content-type': type, origin: scene.app.url, 'sec-fetch-site': 'same-origin' }),
      ...(json === undefined ? {} : { authorization: `Bearer ${json.key}` }),
    },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  // A digest of the body, which is compared itself.
  const headers = Object.entries(Object.fromEntries(response.headers)).filter(
    ([name]) => name !== 'date' && name !== 'etag',
  );
  return JSON.parse(
    JSON.stringify({ status: response.status, headers, text })
      .replaceAll(id, '<what was asked for>')
      .replaceAll(/flow=[\w-]+/g, 'flow=<fresh>')
      .replaceAll(/kb_person_[\w-]+=[\w-]+/g, 'kb_person=<fresh>'),
  ) as unknown;
}

const cookieOf = ({ browser }: Visitor): string | undefined =>
  browser.cookies.header(new URL(scene.app.url), { sameSite: true, method: 'POST' });

/** All that a stranger could change. That a browser was sent away to be proved is its own affair. */
async function stored(tenants: readonly TenantSide[]): Promise<unknown> {
  const ids = tenants.map(({ id }) => id);
  const rows = (text: string) => scene.app.sql(text, [ids]);
  return {
    credentials: await rows('SELECT * FROM credentials WHERE tenant_id = ANY($1) ORDER BY 1, 2, 3'),
    attempts: await rows('SELECT * FROM sign_in_attempts WHERE tenant_id = ANY($1) ORDER BY 1, 2'),
    tickets: await rows('SELECT * FROM tickets WHERE tenant_id = ANY($1) ORDER BY 1, 2'),
    sessions: await rows('SELECT * FROM browser_sessions WHERE tenant_id = ANY($1) ORDER BY 1, 2'),
    flows: await rows(
      'SELECT * FROM browser_sign_ins WHERE tenant_id = ANY($1) AND (principal_id IS NOT NULL OR used_at IS NOT NULL) ORDER BY 1, 2',
    ),
  };
}

interface Kind {
  /** The owner's. */
  readonly real: (on: Stage) => string;
  /** The same request with one of these or with one made up. */
  readonly asked: (on: Stage, stranger: Visitor, id: string) => readonly Asked[];
}

const sessionIn = (visitor: Visitor): string => /kb_session=([\w-]+)/.exec(cookieOf(visitor) ?? '')?.[1] ?? '';
const pathOf = (url: string): string => new URL(url).pathname + new URL(url).search;
const stateIn = (callback: string): string => new URL(callback).searchParams.get('state') ?? '';

const KINDS: Readonly<Record<string, Kind>> = {
  'the state of an attempt': {
    real: ({ callback }) => stateIn(callback),
    asked: ({ callback }, stranger, id) =>
      [pathOf(callback), `${new URL(callback).pathname}?error=access_denied&state=${stateIn(callback)}`].map(
        (path) => ({ path: path.replace(stateIn(callback), id), cookie: cookieOf(stranger) }),
      ),
  },
  'the id of an attempt': {
    real: ({ attempt }) => attempt,
    asked: (_, stranger, id) => [{ path: `/connect/done/${id}`, cookie: cookieOf(stranger) }],
  },
  'the code to come back with': {
    real: ({ code }) => code,
    asked: (_, stranger, id) => [{ path: `/connect/return?code=${id}`, cookie: cookieOf(stranger) }],
  },
  'a CSRF value': {
    real: ({ owner }) => owner.csrf,
    asked: (_, stranger, csrf) =>
      [
        { path: pathOf(stranger.link), form: { csrf, secret: 'key-ada' } },
        { path: '/connect', form: { csrf, server: 'any' } },
        { path: '/connections', form: { csrf, server: 'any', principal: 'ada' } },
        { path: '/connect/sign-out', form: { csrf } },
      ].map((asked) => ({ ...asked, cookie: cookieOf(stranger) })),
  },
};

describe.each(STRANGERS)('in the hands of %s', (name) => {
  it.each(Object.keys(KINDS))('%s is as good as none', async (kind) => {
    const on = await stage();
    const { real, asked } = KINDS[kind] as Kind;
    const id = real(on);
    expect(id).toMatch(/^[\w-]{16,}$/);
    const stranger = on.strangers[name];
    const madeUp = randomLike(id);
    const before = await stored(on.tenants);
    for (const [at, foreign] of asked(on, stranger, id).entries()) {
      const unknown = asked(on, stranger, madeUp)[at] as Asked;
      const told = await seen(foreign, id);
      expect(told, foreign.path).toEqual(await seen(unknown, madeUp));
      // Without a session there is nothing a form could be forged for, and whoever signs out is nobody after it.
      const isNothing = kind === 'a CSRF value' && name === 'nobody';
      if (!isNothing) expect((told as { status: number }).status, foreign.path).toBeGreaterThanOrEqual(400);
    }
    expect(await stored(on.tenants)).toEqual(before);
    expect(on.tokenRequests()).toBe(0);
    // Nothing was used up: the owner goes on.
    expect((await on.owner.browser.open(on.callback)).text).toContain('Go back to your agent.');
  });
});

describe('a handoff flow', () => {
  const confirm = (flow: string, key: string) =>
    seen({ path: '/connect/handoff', json: { key, body: { flow, principal: 'mallory' } } }, flow);

  it.each(['another tenant', 'nobody'] as const)('is as good as none for the product of %s', async (name) => {
    const on = await stage();
    const before = await stored(on.tenants);
    for (const key of [on.strangers[name].productKey, '']) {
      const told = await confirm(on.flow, key);
      expect(told).toEqual(await confirm(randomLike(on.flow), key));
      expect(told).toMatchObject({ status: key === '' ? 401 : 404 });
    }
    expect(await stored(on.tenants)).toEqual(before);
    expect(await confirm(on.flow, on.owner.productKey)).toMatchObject({ status: 200 });
  });
});

describe('a browser session', () => {
  it('of another tenant is as good as none, at links, at pages and at the agents’ door', async () => {
    const on = await stage();
    const foreign = sessionIn(on.strangers['another tenant']);
    const madeUp = randomLike(foreign);
    const before = await stored(on.tenants);
    const [{ id }] = on.tenants as [TenantSide];
    for (const path of [pathOf(on.owner.link), `/connect?tenant=${id}`, `/connections?tenant=${id}`, '/mcp']) {
      const told = await seen({ path, cookie: `kb_session=${foreign}` }, foreign);
      expect(told, path).toEqual(await seen({ path, cookie: `kb_session=${madeUp}` }, madeUp));
    }
    const form = { csrf: on.strangers['another tenant'].csrf, secret: 'key-ada' };
    const path = pathOf(on.owner.link);
    const told = await seen({ path, form, cookie: `kb_session=${foreign}` }, foreign);
    expect(told).toEqual(await seen({ path, form, cookie: `kb_session=${madeUp}` }, madeUp));
    expect(await stored(on.tenants)).toEqual(before);
  });

  it('that was ended is as good as none', async () => {
    const on = await stage();
    const [ended, madeUp] = [sessionIn(on.owner), randomId()];
    await seen({ path: '/connect/sign-out', form: { csrf: on.owner.csrf }, cookie: cookieOf(on.owner) }, ended);
    for (const path of [pathOf(on.owner.link), '/connect', '/connections', '/mcp']) {
      const told = await seen({ path, cookie: `kb_session=${ended}` }, ended);
      expect(told, path).toEqual(await seen({ path, cookie: `kb_session=${madeUp}` }, madeUp));
    }
  });
});

// The exception. A link is shown to people, who send it to each other by mistake, so a person who is known gets told
// that it is another's and how to change accounts; one who is not known is sent to be proved, for nobody can tell
// before whose it is. Neither learns whose it is or what it is for. A made-up link is gone: 410.
describe('a sign-in link', () => {
  const HOW: Readonly<Record<StrangerName, readonly [number, string]>> = {
    'another person': [403, 'This link belongs to another account'],
    'another tenant': [303, 'http://127.0.0.1:9/verify'],
    nobody: [303, 'http://127.0.0.1:9/verify'],
  };

  it.each(STRANGERS)('tells %s neither whose it is nor for what, and takes nothing', async (name) => {
    const on = await stage();
    const [status, words] = HOW[name];
    const ticket = on.owner.link.split('/').at(-1) ?? '';
    const cookie = cookieOf(on.strangers[name]);
    const before = await stored(on.tenants);
    const opened = await seen({ path: pathOf(on.owner.link), cookie }, ticket);
    expect(opened).toMatchObject({ status });
    expect(JSON.stringify(opened)).toContain(words);
    for (const secret of ['ada', 'pasted', 'tenant-']) expect(JSON.stringify(opened)).not.toContain(secret);
    const { csrf } = on.strangers[name];
    const sent = await seen({ path: pathOf(on.owner.link), cookie, form: { csrf, secret: 'key-ada' } }, ticket);
    expect(JSON.stringify(sent)).toContain(words);
    expect(await stored(on.tenants)).toEqual(before);
    const madeUp = randomLike(ticket);
    expect(await seen({ path: `/connect/${madeUp}`, cookie }, madeUp)).toMatchObject({ status: 410 });
  });
});
