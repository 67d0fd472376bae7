import { describe, expect, it } from 'vitest';
import { aServer } from '../credential/in-memory.ts';
import { openConsentSite } from './a-consent-site.ts';

const CANARY = 'canary-9b2e71c4';

describe('a sign-in link for a pasted key', () => {
  it('shows which server, which host and for whom, and asks for the key', async () => {
    await using site = await openConsentSite(
      aServer({
        title: 'Notes',
        credential: { kind: 'secret', label: 'Personal token', help: 'https://notes.example/tokens' },
      }),
    );
    const response = await site.get(await site.link('https://idp.example#42'));
    const page = await response.text();
    expect(response.status).toBe(200);
    for (const words of [
      'Notes',
      '(<bdi>notes</bdi>)',
      'notes.example',
      'https://idp.example#42',
      'Acme',
      'Personal token',
      'href="https://notes.example/tokens"',
    ])
      expect(page).toContain(words);
    expect(page).toContain('type="password"');
    expect(page).toContain('This link alone says who you are');
  });

  it('says that a command is run by the operator, and shows other help as words', async () => {
    await using site = await openConsentSite(
      aServer(
        { command: '/bin/notes', credential: { kind: 'secret', env: 'NOTES_KEY', help: 'Ask the desk on floor 3' } },
        { source: 'file' },
      ),
    );
    const page = await (await site.get(await site.link())).text();
    expect(page).toContain('a command run by the operator');
    expect(page).toContain('Ask the desk on floor 3');
    expect(page).not.toContain('/bin/notes');
  });

  it('tries the key, keeps it for that person only, shows the tools, and then says done', async () => {
    await using site = await openConsentSite(aServer());
    const response = await site.post(await site.link(), ` Bearer ${CANARY}\n`);
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(page).toContain('Go back to your agent.');
    expect(page).not.toContain(CANARY);
    expect(site.done).toEqual(['tried notes p:alice', 'kept notes p:alice', 'signed in notes p:alice']);
    expect(await site.keyOf('alice')).toBe(CANARY);
    expect(await site.keyOf('bob')).toBeUndefined();
    expect(site.log.join('')).not.toContain(CANARY);
  });

  it('keeps nothing that the server refuses, says why in short, and lets the person try again', async () => {
    let isGood = false;
    const reason = `401 for key ${CANARY}: ${'no '.repeat(2000)}<script>`;
    await using site = await openConsentSite(aServer(), {
      tryKey: async () => (isGood ? { ok: true, toolCount: 1 } : { ok: false, reason }),
    });
    const link = await site.link();
    const refused = await site.post(link, CANARY);
    const page = await refused.text();
    expect(refused.status).toBe(422);
    expect(page).toContain('401 for key [secret]');
    expect(page).toContain('type="password"');
    expect(page).not.toContain(CANARY);
    expect(page.length).toBeLessThan(4000);
    expect(await site.keyOf('alice')).toBeUndefined();
    isGood = true;
    expect((await site.post(link, CANARY)).status).toBe(200);
    expect(await site.keyOf('alice')).toBe(CANARY);
  });

  it.each(['', 'a\r\nX-Evil: 1', 'sch\u00fcssel', 'x'.repeat(9000)])(
    'B233: shows the form again for %j without asking the server',
    async (pasted) => {
      await using site = await openConsentSite(aServer());
      const response = await site.post(await site.link(), pasted);
      expect(response.status).toBe(422);
      expect(await response.text()).toContain('role="alert"');
      expect(site.done).toEqual([]);
    },
  );

  it('B245: an error that quotes the key reaches neither page nor log', async () => {
    await using site = await openConsentSite(aServer(), {
      tryKey: async (_server, _owner, secret) => {
        throw new TypeError(`"${secret.reveal()}" is an invalid header value.`);
      },
    });
    const response = await site.post(await site.link(), CANARY);
    expect(response.status).toBe(422);
    expect(await response.text()).not.toContain(CANARY);
    expect(site.log).toHaveLength(1);
    expect(site.log.join('')).not.toContain(CANARY);
  });

  it('waits thirty seconds for the server and no longer', async () => {
    let asked: (signal: AbortSignal) => void = () => undefined;
    const trying = new Promise<AbortSignal>((resolve) => {
      asked = resolve;
    });
    await using site = await openConsentSite(aServer(), {
      tryKey: (_server, _owner, _secret, signal) => {
        asked(signal);
        return new Promise(() => undefined);
      },
    });
    const answer = site.post(await site.link(), CANARY);
    const signal = await trying;
    site.clock.advance(29_999);
    expect(signal.aborted).toBe(false);
    site.clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(await (await answer).text()).toContain('did not answer in time');
  });

  it('says done when the key is kept, whatever the tools do', async () => {
    await using site = await openConsentSite(aServer(), { signedIn: () => Promise.reject(new Error('down')) });
    expect(await (await site.post(await site.link(), CANARY)).text()).toContain('Go back to your agent.');
    expect(await site.keyOf('alice')).toBe(CANARY);
    expect(site.log).toHaveLength(1);
  });

  it('lets nobody guess keys by the thousand', async () => {
    let tries = 0;
    await using site = await openConsentSite(aServer(), {
      tryKey: async () => {
        tries++;
        return { ok: false, reason: 'no' };
      },
    });
    const link = await site.link();
    for (let index = 0; index < 20; index++) expect((await site.post(link, `guess-${String(index)}`)).status).toBe(422);
    expect((await site.post(link, 'guess-20')).status).toBe(429);
    expect(tries).toBe(20);
  });
});

describe('a link that does not work', () => {
  it('answers the same for used, expired, unknown and malformed tickets, and for servers that are gone or moved', async () => {
    await using site = await openConsentSite(aServer());
    const used = await site.link();
    await site.post(used, CANARY);
    const expired = await site.link();
    site.clock.advance(600_000);
    const stale = await site.link();
    const answers: [number, string][] = [];
    const look = async (path: string): Promise<void> => {
      for (const response of [await site.get(path), await site.post(path, 'another-key')])
        answers.push([response.status, await response.text()]);
    };
    for (const path of [used, expired, `/connect/${'A'.repeat(43)}`, '/connect/x', '/connect/%00']) await look(path);
    const places = [
      aServer({ url: 'https://evil.example/mcp' }),
      aServer({ enabled: false }),
      aServer({ credential: { kind: 'secret', owner: 'tenant' } }),
      undefined,
    ];
    for (const place of places) {
      site.server = place;
      await look(stale);
    }
    expect(answers).toHaveLength(18);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.[0]).toBe(410);
    expect(answers[0]?.[1]).toContain('ask your agent again');
    expect(await site.keyOf('alice')).toBe(CANARY);
  });

  it('T4: of ten people with one link, one key only is kept', async () => {
    let waiting = 0;
    let open: () => void = () => undefined;
    const everyoneIsHere = new Promise<void>((resolve) => {
      open = resolve;
    });
    await using site = await openConsentSite(aServer(), {
      tryKey: async () => {
        if (++waiting === 10) open();
        await everyoneIsHere;
        return { ok: true, toolCount: 1 };
      },
    });
    const link = await site.link();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => site.post(link, `key-${String(index)}`)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(9);
    expect(site.done.filter((step) => step.startsWith('kept'))).toHaveLength(1);
  });

  it('B161: a second click gives the same page and does nothing twice', async () => {
    await using site = await openConsentSite(aServer());
    const link = await site.link();
    const both = await Promise.all([site.post(link, CANARY), site.post(link, CANARY)]);
    const later = await site.post(link, CANARY);
    for (const response of [...both, later]) expect(await response.text()).toContain('Go back to your agent.');
    expect(site.done).toHaveLength(3);
    site.clock.advance(60_000);
    expect((await site.post(link, CANARY)).status).toBe(410);
  });

  it('B163: opening it in two tabs, or again, spoils neither form', async () => {
    await using site = await openConsentSite(aServer());
    const link = await site.link();
    const pages = [await (await site.get(link)).text(), await (await site.get(link)).text()];
    expect(pages[1]).toBe(pages[0]);
    site.clock.advance(9 * 60_000);
    expect((await site.post(link, CANARY)).status).toBe(200);
  });
});

describe('a sign-in that cannot be', () => {
  it.each([
    ['link mode in the open', aServer(), 'not allowed at this address'],
    [
      'another kind of credential',
      aServer({ credential: { kind: 'client_credentials', owner: 'principal' } }),
      'nobody signs in',
    ],
  ] as const)('%s says so plainly, and takes no key', async (_name, server, words) => {
    await using site = await openConsentSite(server, { linkSignInAllowed: () => server.credential?.kind !== 'secret' });
    const link = await site.link();
    for (const response of [await site.get(link), await site.post(link, CANARY)]) {
      const page = await response.text();
      expect(response.status).toBe(403);
      expect(page).toContain(words);
      expect(page).toContain('Ask the administrator');
      expect(page).not.toContain(CANARY);
    }
    expect(site.done).toEqual([]);
    expect(site.ticketRows.rows[0]?.isUsed).toBe(false);
  });
});
