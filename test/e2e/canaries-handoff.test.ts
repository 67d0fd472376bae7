// T23: the key by which a product proves its people, and what it hands over with it, are nowhere else.
import { expect, it } from 'vitest';
import { useScene, withKeys } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { linkIn } from '../support/sign-in.ts';
import { expectNowhere } from './canary-places.ts';
import { confirmFlow, departure } from './pages-walk.ts';

const scene = useScene();

it('the key of a handoff is nowhere, whether it is set, wrong, right, or in the wrong place', async () => {
  const [key, wrong, pasted] = ['key/of+the-product"1', 'wrong/key+of-another"2', 'key-ada'];
  const tenant = await scene.tenant({ notes: withKeys(await scene.keyed('legacy')) });
  const seen: string[] = [];
  const say = async (method: string, path: string, body?: unknown): Promise<number> => {
    const reply = await scene.app.admin(method, path, body);
    seen.push(JSON.stringify(reply.body));
    return reply.status;
  };
  const at = `/tenants/${tenant.id}`;
  const verifyUrl = 'http://127.0.0.1:9/verify';
  for (const signIn of [
    { mode: 'handoff', verifyUrl: `https://u:${encodeURIComponent(key)}@x.example/verify`, key },
    { mode: 'handoff', verifyUrl: `not an address ${key}`, key: `${key}\n` },
    { mode: key, verifyUrl, key },
    { mode: 'handoff', verifyUrl, key, [key]: key },
    { mode: 'handoff', verifyUrl, key: [key] },
  ])
    expect(await say('PATCH', at, { signIn })).toBeGreaterThanOrEqual(400);
  expect(await say('PATCH', at, { signIn: { mode: 'handoff', verifyUrl, key } })).toBe(200);

  const link = linkIn(await (await tenant.raw('rawLegacy', 'ada')).callTool('notes__connect'));
  const browser = new Browser();
  const verifying = await departure(browser, link);
  const flow = String(new URL(verifying).searchParams.get('flow'));
  const ask = async (init: RequestInit): Promise<number> => {
    const response = await fetch(`${scene.app.url}/connect/handoff`, {
      method: 'POST',
      signal: AbortSignal.timeout(5_000),
      ...init,
    });
    seen.push(JSON.stringify([...response.headers]), await response.text());
    return response.status;
  };
  const json = { 'content-type': 'application/json' };
  const body = JSON.stringify({ flow, principal: 'ada' });
  for (const init of [
    { headers: { ...json, authorization: `Bearer ${wrong}` }, body },
    { headers: { ...json, authorization: `Basic ${Buffer.from(`u:${key}`).toString('base64')}` }, body },
    { headers: json, body: JSON.stringify({ flow, principal: 'ada', key, authorization: key }) },
    { headers: { ...json, authorization: `Bearer ${key}` }, body: `{"flow":"${flow}","key":"${key}` },
    { headers: { ...json, authorization: `Bearer ${key}` }, body: JSON.stringify({ flow: key, principal: [key] }) },
  ])
    expect(await ask(init)).toBeGreaterThanOrEqual(400);
  const back = await confirmFlow(scene.app, verifying, 'ada', key);
  expect(back.status).toBe(200);
  seen.push((await browser.open(back.url)).text, (await browser.open(back.url)).text);
  expect((await browser.open(link)).text).toContain('You are signed in as <bdi>ada</bdi>');
  seen.push((await browser.submit({ secret: pasted })).text);
  expect(browser.page.text).toContain('Go back to your agent.');

  // The flow is no secret: it opens nothing without the key, nor without the browser that it was made for.
  const code = [...new URL(back.url).searchParams.values()].at(-1) ?? '';
  const cookies = browser.cookies.header(new URL(link), { sameSite: true, method: 'GET' })?.split('; ') ?? [];
  const values = cookies.map((pair) => pair.slice(pair.indexOf('=') + 1));
  const secrets = { key, wrong, code, ...Object.fromEntries(values.map((value, n) => [`cookie ${n}`, value])) };
  expect(values.length).toBeGreaterThan(0);
  await expectNowhere(scene.app, secrets, { tenant: tenant.id, servers: ['notes'], seen });
});
