// A secret is a `Secret` until the line that needs its text. Each file with such a line is named here with what it
// needs it for, so that a new one is thought about; and however a `Secret` is printed, it says nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { format, inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';

const root = new URL('../../src/', import.meta.url);

const REVEALS: Readonly<Record<string, string>> = {
  'admin/admit.ts': 'the hash that admin keys are compared with',
  'catalog/sealed-definition.ts': 'the definition as it is parsed, which makes secrets of its texts again',
  'consent/connect-key.ts': 'what a person pasted, to be kept',
  'consent/prove-handoff.ts': 'the hash that the product is known by',
  'credential/clients.ts': 'sealing the secret of a registration',
  'credential/consent-flow.ts': 'the opened row of a sign-in',
  'credential/grant.ts': 'the text that is sealed',
  'credential/keep-secret.ts': 'sealing a pasted key',
  'credential/kept-credentials.ts': 'the opened row of a grant',
  'credential/tickets.ts': 'the hash of a link, and the link itself',
  'identity/subject-tokens.ts': 'telling one token from another',
  'main.ts': 'the address of the database, master keys, and what the welcome shows once',
  'proxy/request-state.ts': 'the opened state that an agent carried',
  'shared/mask.ts': 'what has to be masked',
  'upstream/echo.ts': 'what has to be found',
  'upstream/http-target.ts': 'the headers of a connection',
  'upstream/known-secrets.ts': 'which parts of it have to be found',
  'upstream/oauth/authorization-servers.ts': 'requests to a token endpoint',
  'upstream/oauth/client-authentication.ts': 'proving ourselves to one',
  'upstream/oauth/registration.ts': 'the request for a registration',
  'upstream/oauth/token-request.ts': 'finding it in an error',
  'upstream/stderr-log.ts': 'what has to be masked, line by line',
  'upstream/stdio-dial.ts': 'telling one credential of a command from another',
  'upstream/stdio-env.ts': 'the environment of a command',
};

describe('the text of a secret', () => {
  it('is taken out in no file that is not named here', () => {
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const revealing = files.filter(
      (file) => file !== 'shared/secret.ts' && readFileSync(new URL(file, root), 'utf8').includes('.reveal('),
    );
    expect(files.length).toBeGreaterThan(200);
    expect(revealing.sort()).toEqual(Object.keys(REVEALS).sort());
  });

  it('is in nothing that is printed, in whatever way', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'z', '0', '9', '+', '/', '='), minLength: 12, maxLength: 40 });
    fc.assert(
      fc.property(text, (value) => {
        const secret = new Secret(value);
        const lines: string[] = [];
        const logger = createLogger('trace', { write: (line) => void lines.push(line) });
        const fields = {
          secret,
          key: secret,
          deep: { list: [secret] },
          map: new Map([['k', secret]]),
          url: `x${secret}`,
        };
        logger.debug(fields, `with ${secret}`);
        logger.child({ owner: secret }).error({ err: Object.assign(new Error(String(secret)), { secret }) }, 'failed');
        logger.info(secret as never);
        const printed = [
          `${secret}`,
          // Concatenation asks for a primitive in another way than a template does.
          'a'.concat(secret as never) + (secret as unknown as string),
          [secret].join(),
          JSON.stringify({ secret, [String(secret)]: [secret] }),
          inspect(secret),
          inspect({ deep: { deeper: { deepest: [secret] } } }, { depth: 10, showHidden: true, getters: true }),
          inspect(secret, { customInspect: false, showHidden: true }),
          format('%s %o %O %j %d', secret, secret, secret, secret, secret),
          JSON.stringify(Object.assign({}, secret)),
          JSON.stringify(Object.entries(secret)),
          String(Object.getOwnPropertyNames(secret)),
          new Error('x', { cause: secret }).toString() + inspect(new Error('x', { cause: secret })),
          new URLSearchParams({ q: secret as never }).toString(),
          ...lines,
        ].join('\n');
        expect(lines).toHaveLength(3);
        expect(printed).toContain('[secret]');
        expect(printed).not.toContain(value);
        expect(secret.reveal()).toBe(value);
      }),
    );
  });
});
