// What an admin left out is not there, whatever it is called.
import { describe, expect, it } from 'vitest';
import { isAllowed, isFiltered, isRestricted } from '../../src/policy/allowed.ts';
import { serverOf, URL_ONLY } from '../catalog/read-definition.ts';

const open = serverOf(URL_ONLY);
const limited = serverOf({
  ...URL_ONLY,
  prompts: { only: ['sum*'] },
  resources: { only: ['file:///docs/*', 'x://{id}'] },
});

describe('prompts and resources', () => {
  it('are all offered where nothing is said', () => {
    expect(isAllowed(open, 'prompts', 'anything')).toBe(true);
    expect(isAllowed(open, 'resources', 'anything://at/all')).toBe(true);
    expect(isFiltered(open, 'prompts') || isFiltered(open, 'templates')).toBe(false);
  });

  it.each([
    ['prompts', 'summarise', true],
    ['prompts', 'a sum', false],
    ['prompts', 'file:///docs/a', false],
    ['resources', 'file:///docs/a/b', true],
    ['resources', 'file:///other', false],
    ['resources', 'file:///docs/../etc/passwd', false],
    ['resources', 'file:///docs/a/..', false],
    ['resources', 'file:///docs/%2e%2E%2fetc', false],
    ['resources', 'file:///docs/%252e%252e/etc', false],
    ['resources', 'file:///docs/..\\etc', false],
    ['resources', 'file:///docs/..;x/etc', false],
    ['resources', 'file:///docs/..?x', false],
    ['resources', 'file:///docs/a..b/...', true],
    ['resources', 'file:///docs/100%/..a', true],
    ['resources', 'summarise', false],
    ['templates', 'x://{id}', true],
    ['templates', 'x://{other}', false],
  ] as const)('are offered as an admin says: %s %s', (kind, key, isThere) => {
    expect(isFiltered(limited, kind)).toBe(true);
    expect(isAllowed(limited, kind, key)).toBe(isThere);
  });
});

describe('a server of which anything is kept from agents', () => {
  it.each([
    [{}, false],
    [{ gated: false }, false],
    [{ only: ['a'] }, true],
    [{ except: ['a'] }, true],
    [{ prompts: { only: ['a'] } }, true],
    [{ resources: { only: [] } }, true],
    [{ gated: true }, true],
    [{ gated: 'destructive' }, true],
  ])('%j is restricted: %s', (more, expected) =>
    expect(isRestricted(serverOf({ ...URL_ONLY, ...more }))).toBe(expected),
  );
});
