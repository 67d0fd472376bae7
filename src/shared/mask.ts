// Puts `[secret]` where a secret stands in a text, in whatever form.
import type { Secret } from './secret.ts';
import { formsOf, quotedForms } from './secret-forms.ts';

export const MASK = '[secret]';

/** A shorter value stands in too many harmless texts: masking it would spoil them, and tell what it is. */
export const SHORTEST_ECHO_LENGTH = 8;

/**
 * @param shortest secrets of fewer characters are left as they are; a log can bear to lose more than an
 *   answer that somebody works with
 */
export function createMask(
  secrets: readonly Secret[],
  shortest: number = SHORTEST_ECHO_LENGTH,
): (text: string) => string {
  let pattern: RegExp | undefined;
  return (text) => text.replace((pattern ??= patternOf(secrets, shortest)), MASK);
}

const NEVER = /(?!)/;

function patternOf(secrets: readonly Secret[], shortest: number): RegExp {
  const alternatives = new Map<string, string>();
  for (const secret of secrets) {
    const value = secret.reveal();
    if (value.length < shortest) continue;
    const { plain, base64 } = formsOf(value);
    for (const form of plain) for (const text of quotedForms(form)) alternatives.set(text, literal(text));
    // So little of it stands in ordinary words.
    if (value.length < SHORTEST_ECHO_LENGTH) continue;
    // Of the neighbours too, which hold the rest of its first and last byte.
    for (const text of base64) alternatives.set(text, `[A-Za-z0-9+/_-]?${literal(text)}[A-Za-z0-9+/_-]?`);
  }
  if (alternatives.size === 0) return NEVER;
  const longestFirst = [...alternatives].sort(([a], [b]) => b.length - a.length).map(([, source]) => source);
  return new RegExp(longestFirst.join('|'), 'g');
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
