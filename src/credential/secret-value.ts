// Turns what a person pasted into a value that can be sent, or says what is wrong without repeating it.
import { ProxyError } from '../shared/errors.ts';
import { Secret } from '../shared/secret.ts';

const MAX_BYTES = 8 * 1024;

/** Zero-width and bidirectional marks come along with copied text and are seen by nobody. */
const UNSEEN = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** RFC 6750 §2.1 and RFC 7617 §2: one token, so a blank inside means that something else was pasted. */
const ONE_WORD_SCHEMES = new Set(['bearer', 'basic']);

/**
 * `scheme` is the word that will be put before the value, '' for none; `header` is the header it goes
 * into. People paste whole header lines, and neither name nor scheme may end up twice.
 */
export function parseSecretValue(
  text: string,
  placement: 'header' | 'env',
  scheme: string,
  header = 'authorization',
): Secret {
  // Before anything scans it, so that a large paste costs nothing.
  if (text.length > 2 * MAX_BYTES) throw refusal('is too long: at most 8 KiB');
  const value = placement === 'header' ? withoutHeaderLine(text.trim(), header, scheme) : text.trim();
  const problem = problemOf(value) ?? (placement === 'header' ? headerProblem(value, scheme) : undefined);
  if (problem !== undefined) throw refusal(problem);
  return new Secret(value);
}

function problemOf(value: string): string | undefined {
  if (value === '') return 'is empty';
  if (Buffer.byteLength(value) > MAX_BYTES) return 'is too long: at most 8 KiB';
  if (/\p{Cc}/u.test(value)) return 'has line breaks or control characters in it';
  if (UNSEEN.test(value)) return 'has an invisible character in it; copy it again, or type it';
  return undefined;
}

/** Visible ASCII is what every HTTP library and server passes unchanged (RFC 9110 §5.5). */
function headerProblem(value: string, scheme: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(value)) return 'has characters that cannot be sent in a header';
  if (ONE_WORD_SCHEMES.has(scheme.toLowerCase()) && value.includes(' '))
    return 'has a blank in it; paste only the key, without the word before it';
  return undefined;
}

function withoutHeaderLine(text: string, header: string, scheme: string): string {
  const line = `${header}:`;
  const named = text.slice(0, line.length).toLowerCase() === line.toLowerCase();
  return withoutScheme(named ? text.slice(line.length).trimStart() : text, scheme);
}

/** Also where it stands twice, or alone: `Bearer` is no key. */
function withoutScheme(text: string, scheme: string): string {
  let rest = text;
  while (scheme !== '' && startsWithWord(rest, scheme)) rest = rest.slice(scheme.length).trimStart();
  return rest;
}

function startsWithWord(text: string, word: string): boolean {
  const end = text.charAt(word.length);
  return text.slice(0, word.length).toLowerCase() === word.toLowerCase() && (end === '' || end === ' ' || end === '\t');
}

function refusal(problem: string): ProxyError {
  return new ProxyError('invalid_request', `The value ${problem}.`);
}
