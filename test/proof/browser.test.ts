// A person signs in with a browser, and their agent goes on: the whole way through the real pages.
import http from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Agent } from '../support/agents/agent.ts';
import { type RawResponse, rawRequest } from '../support/agents/raw-http.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type KeyedServer, startKeyedServer } from '../support/upstreams/keyed-server.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { hasBrowser, NEEDS_BROWSER, type Person, usePeople } from './chromium.ts';

let app: TestApp;
let upstream: KeyedServer;
let agent: Agent;
let people = 0;
let who = '';

beforeAll(async () => {
  app = await startTestApp();
  upstream = await startKeyedServer({ era: 'legacy' });
  await app.tenant('acme');
  const credential = { owner: 'principal', kind: 'secret', label: 'Personal access token' };
  await app.putServer('acme', 'tracker', { url: upstream.url, title: 'Issue Tracker', credential });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
});

beforeEach(async () => {
  who = `person-${++people}`;
  upstream.keys.set(`key-of-${who}`, who);
  const key = await app.agentKey('acme');
  agent = await app.agent('sdk1', { key, principal: who });
});

async function askForLink(): Promise<string> {
  const { status, url } = objectAt(await agent.callTool('tracker__connect'), 'structuredContent');
  expect(status).toBe('sign_in_required');
  return String(url);
}

async function expectCallGoesOn(): Promise<void> {
  expect(objectAt(await agent.callTool('tracker__whoami'), 'structuredContent')).toMatchObject({ who });
  await agent.close();
}

describe('the form, with the headers that Chromium sends', () => {
  const http1 = new http.Agent();
  const post = (url: string, secret: string, site: string): Promise<RawResponse> =>
    rawRequest({
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'null',
        'sec-fetch-site': site,
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      },
      body: new URLSearchParams({ secret }).toString(),
      agent: http1,
    });

  it('is taken from our own page, which sends no referrer and so `Origin: null`', async () => {
    const response = await post(await askForLink(), `key-of-${who}`, 'same-origin');
    expect(await response.text()).toContain('Go back to your agent.');
    expect(response.status).toBe(200);
    await expectCallGoesOn();
  });

  it('is refused from another site', async () => {
    const response = await post(await askForLink(), `key-of-${who}`, 'cross-site');
    expect(response.status).toBe(403);
    await agent.close();
  });

  it('does not open the MCP routes to such an origin', async () => {
    const response = await post(`${app.url}/mcp`, '', 'same-origin');
    expect(response.status).toBe(403);
    await agent.close();
  });
});

describe.skipIf(!hasBrowser)(NEEDS_BROWSER, { timeout: 60_000 }, () => {
  const people = usePeople();
  let person: Person;

  beforeEach(async () => {
    person = await people.somebody();
  });

  it('a person pastes a wrong key, then the right one, and the agent goes on', async () => {
    await person.open(await askForLink());
    await person.sees('Connect Issue Tracker');
    expect(await person.reads()).toContain(new URL(upstream.url).host);
    expect(await person.evaluate('getComputedStyle(document.querySelector("main")).maxWidth')).toBe('512px');
    // Into whatever has the focus.
    await person.page.keyboard.insertText('wrong-key');
    await person.page.keyboard.press('Enter');
    await person.sees('did not accept this key');
    expect(await person.reads()).not.toContain('wrong-key');
    await person.page.keyboard.insertText(`key-of-${who}`);
    await person.page.keyboard.press('Enter');
    await person.sees('Go back to your agent');
    await expectCallGoesOn();
  });

  it('a form of another site, with the right link, is refused', async () => {
    const link = await askForLink();
    await person.evaluate(`(() => {
      const form = document.createElement('form');
      form.method = 'post';
      form.action = ${JSON.stringify(link)};
      form.innerHTML = '<input name="secret" value="key-of-${who}">';
      document.body.append(form);
      form.submit();
    })()`);
    await person.sees('sent from another site');
    expect(objectAt(await agent.callTool('tracker__connect'), 'structuredContent')['status']).toBe('sign_in_required');
    await agent.close();
  });
});
