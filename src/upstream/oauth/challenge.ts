// Reads WWW-Authenticate as servers write it, which is not always as RFC 9110 §11.6.1 has it: parameters
// twice, blanks around `=`, no quotes, several challenges in one line. One pass, whatever the length.
import { MAX_URL_LENGTH } from '../../shared/url-form.ts';

export interface Challenge {
  /** Where the protected-resource document may be, in the order named (RFC 9728 §5.1); absolute, http(s). */
  readonly metadataUrls: readonly string[];
  readonly scopes: readonly string[];
  readonly error: string | undefined;
}

const WORD = /[^\s,="]+/y;
const BLANKS = /\s*/y;
const QUOTED = /"([^"\\]*(?:\\[\s\S][^"\\]*)*)"?/y;
const UNQUOTED = /[^\s,]*/y;
/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const MAX_SCOPES = 100;

/** `serverUrl` is what relative addresses are relative to. */
export function readChallenge(header: string | undefined, serverUrl: string): Challenge {
  const found = { resource_metadata: [] as string[], scope: [] as string[], error: [] as string[] };
  for (const [name, value] of parametersOf(header ?? '')) {
    if (Object.hasOwn(found, name)) found[name as keyof typeof found].push(value);
  }
  const urls = found.resource_metadata.map((value) => resolve(value, serverUrl)).filter((url) => url !== undefined);
  return {
    metadataUrls: [...new Set(urls)],
    scopes: readScopes(found.scope[0]),
    error: found.error[0],
  };
}

/** Blanks apart, without duplicates; what cannot be a scope is left out. */
export function readScopes(value: string | undefined): readonly string[] {
  const scopes = (value ?? '').split(/\s+/).filter((scope) => SCOPE.test(scope));
  return [...new Set(scopes)].slice(0, MAX_SCOPES);
}

/** Of all challenges together: a word without `=` after it is a scheme, and a scheme changes nothing here. */
function* parametersOf(text: string): Generator<readonly [name: string, value: string]> {
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  while (at < text.length) {
    const name = take(WORD)?.[0].toLowerCase();
    if (name === undefined) {
      at++; // a blank, a comma, or a quote out of place
      continue;
    }
    take(BLANKS);
    if (text[at] !== '=') continue;
    at++;
    take(BLANKS);
    const quoted = take(QUOTED)?.[1]?.replace(/\\([\s\S])/g, '$1');
    yield [name, quoted ?? take(UNQUOTED)?.[0] ?? ''];
  }
}

/** A value in single quotes is neither absolute nor a path, so it is no address. */
function resolve(value: string, serverUrl: string): string | undefined {
  if (value.length > MAX_URL_LENGTH || !/^(?:https?:\/\/|\/)/i.test(value)) return undefined;
  return URL.canParse(value, serverUrl) ? new URL(value, serverUrl).href : undefined;
}
