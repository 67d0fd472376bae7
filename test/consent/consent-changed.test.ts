import { expect, it } from 'vitest';
import { aServer } from '../credential/in-memory.ts';
import { openConsentSite } from './a-consent-site.ts';

const server = aServer({ title: 'Notes', credential: { kind: 'oauth' } });

it('T1: shows the page again when what it said is not what would be done any more', async () => {
  await using site = await openConsentSite(server);
  const [jar, link] = [site.jar(), await site.link()];
  const read = await jar.open(link);
  site.flows.preview_ = { scopes: ['everything'], digest: 'another' };
  const again = await jar.press(link, read);
  expect([again.status, again.location]).toEqual([409, '']);
  expect(again.text).toContain('has changed since this page was opened');
  expect(again.text).toContain('everything');
  expect([site.flows.done, jar.cookies.list()]).toEqual([[], []]);
  expect((await jar.press(link, again)).status, 'what is read now is what is agreed to').toBe(303);
});

it('begins for a program that sends the form without what only the page could tell it', async () => {
  await using site = await openConsentSite(server);
  expect((await site.jar().post(await site.link(), {})).status).toBe(303);
});
