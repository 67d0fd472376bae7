// The rules on single values of a definition: names, URLs, texts. Each says what is wrong, or undefined,
// and never repeats the value, as any of them may hold a secret by mistake.
import { MAX_URL_LENGTH, type UrlFault, urlFault } from '../shared/url-form.ts';

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** For a server's name and for its prefix: short enough that `prefix__tool` stays callable, and never `__`. */
export function serverNameProblem(name: string): string | undefined {
  if (!NAME.test(name))
    return 'must be 1 to 32 characters: lower-case letters, digits and hyphens, with a letter or digit at both ends';
  return name === 'keybearer' ? 'is reserved: "keybearer" names our own tools' : undefined;
}

const URL_WORDS: Readonly<Record<UrlFault, string>> = {
  length: `is longer than ${String(MAX_URL_LENGTH)} characters`,
  characters: 'has blanks, control characters or backslashes',
  scheme: 'must be a URL that starts with https:// or http://',
  form: 'must be a URL that starts with https:// or http://',
  user: 'has a user name or password in it: use "headers" or "credential"',
};

/** The form of an address only; which may be dialled is the guard's to say. A fragment is never sent, and harms nobody. */
export function urlProblem(text: string): string | undefined {
  const fault = urlFault(text);
  return fault === undefined ? undefined : URL_WORDS[fault];
}

/** Cleartext to this host does not leave the machine, `*.localhost` included (RFC 6761), which is no proof of a person (loopback-host.ts). `url` has passed `urlProblem`. */
export function isLoopbackUrl(url: string): boolean {
  const host = new URL(url).hostname.toLowerCase();
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** OAuth compares addresses as text and forbids it (RFC 6749 §3.1, RFC 8707 §2). */
export function fragmentProblem(text: string): string | undefined {
  return text.includes('#') ? 'has a fragment (#…), which is never sent' : undefined;
}

/** Tokens, codes and client secrets go there, so only TLS or this machine (RFC 6749 §3.1, §3.2). */
export function oauthUrlProblem(text: string): string | undefined {
  const problem = urlProblem(text) ?? fragmentProblem(text);
  if (problem !== undefined) return problem;
  return text.toLowerCase().startsWith('https:') || isLoopbackUrl(text) ? undefined : 'must start with https://';
}

/** Turn the reading direction around, so that a page shows something other than what is there. */
const BIDI = /[\u202a-\u202e\u2066-\u2069]/;

export function lineProblem(max: number): (text: string) => string | undefined {
  return (text) => {
    if (text.length > max) return `is longer than ${String(max)} characters`;
    return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) || BIDI.test(text) ? 'has line breaks or control characters' : undefined;
  };
}

export function proseProblem(max: number): (text: string) => string | undefined {
  return (text) => {
    if (text.length > max) return `is longer than ${String(max)} characters`;
    return /(?![\t\n\r])\p{Cc}/u.test(text) || BIDI.test(text) ? 'has control characters' : undefined;
  };
}

/** Shown on the sign-in form, perhaps as a link: never one that runs a script. */
export function helpProblem(text: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\S/i.test(text) && urlProblem(text) !== undefined)
    return 'must be plain words or an https:// address';
  return lineProblem(500)(text);
}

export function patternProblem(max: number): (text: string) => string | undefined {
  return (text) => (text === '' ? 'is empty' : lineProblem(max)(text));
}

/** RFC 6901; '' would be the whole result and no amount. */
export function pointerProblem(text: string): string | undefined {
  return text.length <= 256 && /^(?:\/(?:[^~/]|~[01])*)+$/.test(text)
    ? undefined
    : 'must be a JSON Pointer such as "/_meta/usd"';
}

/** RFC 6749 §3.3. */
export function scopeProblem(text: string): string | undefined {
  return /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(text) ? undefined : 'must be one scope without blanks';
}

export function visibleTextProblem(text: string): string | undefined {
  return /^[\x20-\x7e]{1,4096}$/.test(text) ? undefined : 'must be 1 to 4096 characters of visible ASCII';
}

/** A path that is not absolute would be looked for in the working directory, into which others may write. */
export function commandProblem(text: string): string | undefined {
  if (text.includes('/') && !text.startsWith('/'))
    return 'must be an absolute path, or a plain name that is found in PATH';
  return argumentProblem(text);
}

export function argumentProblem(text: string): string | undefined {
  if (text.includes('\u0000')) return 'cannot be passed to a command: it has a NUL character';
  return text.length > 8192 ? 'is longer than 8192 characters' : undefined;
}
