import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlobs } from '../../src/catalog/glob.ts';

/** The definition itself, slow and plain. */
function naive(glob: readonly string[], name: readonly string[]): boolean {
  const [first, ...rest] = glob;
  if (first === undefined) return name.length === 0;
  if (first === '*') return naive(rest, name) || (name.length > 0 && naive(glob, name.slice(1)));
  return name.length > 0 && (first === '?' || first === name[0]) && naive(rest, name.slice(1));
}

const pattern = fc.string({ unit: fc.constantFrom('*', '?', 'a', 'b', '.', '😀'), maxLength: 8 });
const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?', '😀'), maxLength: 10 });

describe('compileGlobs', () => {
  it('agrees with a naive matcher on every pattern and name', () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 3 }), name, (patterns, text) => {
        const expected = patterns.some((glob) => naive([...glob], [...text]));
        expect(compileGlobs(patterns)(text)).toBe(expected);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['delete_*', 'delete_repo', true],
    ['delete_*', 'Delete_repo', false],
    ['delete_*', 'undelete_repo', false],
    ['*', '', true],
    ['?', '😀', true],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
    ['{a,b}', 'a', false],
    ['a\\*', 'a*', false],
    ['^a$', 'a', false],
  ])('reads only * and ? as special: %s on %s', (glob, text, expected) => {
    expect(compileGlobs([glob])(text)).toBe(expected);
  });

  it('lets nothing through without patterns', () => {
    expect(compileGlobs([])('anything')).toBe(false);
  });

  it('stays quick on what makes regular expressions explode', () => {
    const matches = compileGlobs(Array.from({ length: 100 }, () => `${'a*'.repeat(63)}b`));
    const started = performance.now();
    expect(matches('a'.repeat(4000))).toBe(false);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
