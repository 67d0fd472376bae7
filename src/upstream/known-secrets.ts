// What a connection knows that its server must not say back: the credential, and what of the definition's
// headers or variables is a secret. Not all of them are, and masking `production` or a path would spoil answers.
import type { CredentialSpec, Transport } from '../catalog/upstream-server.ts';
import type { Credential } from '../credential/credential.ts';
import { Secret } from '../shared/secret.ts';

const NAMED_SO =
  /auth|key|token|secret|passw|passphrase|pwd|cred|cookie|session|signature|dsn|bearer|(?:^|[-_])pat(?:$|[-_])/i;
/** One word of letters and digits mixed, long enough to be no word of a language; no version, no date. */
const RANDOM = /^(?=.*\d)(?=.*[A-Za-z])(?!\d{4}-\d{2})[\w+=~.-]{16,}$/;
/** Names of machines are like that too. */
const HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
const AUTHORIZATION = /authorization$/i;
const WITH_SCHEME = /^[A-Za-z][A-Za-z0-9-]* +(\S+)$/;
/** A key in PEM comes back line by line where it is printed. */
const LONG_LINE = 24;

export function knownSecrets(
  transport: Transport,
  spec: CredentialSpec | undefined,
  credential: Credential,
): readonly Secret[] {
  const found = new Set<string>();
  const set = transport.kind === 'stdio' ? transport.env : transport.headers;
  for (const [name, value] of set)
    for (const secret of secretsIn(name, value.reveal(), transport.kind === 'stdio')) found.add(secret);
  if (credential.kind === 'static') {
    const value = credential.secret.reveal();
    for (const secret of [value, ...basicParts(spec?.scheme ?? '', value), ...linesOf(value)]) found.add(secret);
  }
  return [...found].map((text) => new Secret(text));
}

function secretsIn(name: string, value: string, isVariable: boolean): readonly string[] {
  const password = passwordIn(value);
  const [scheme, word] = !isVariable && AUTHORIZATION.test(name) ? schemeOf(value) : [];
  if (word !== undefined && scheme !== undefined) return [word, ...basicParts(scheme, word)];
  const isSecret = NAMED_SO.test(name) || (RANDOM.test(value) && !HOST.test(value));
  return [...(isSecret ? [value, ...linesOf(value)] : []), ...(password === undefined ? [] : [password])];
}

function schemeOf(value: string): readonly string[] {
  const word = WITH_SCHEME.exec(value)?.[1];
  return word === undefined ? [] : [value.slice(0, value.indexOf(' ')), word];
}

/** `Basic` carries a name and a password in Base64 (RFC 7617 §2); servers say the password back decoded. */
function basicParts(scheme: string, value: string): readonly string[] {
  if (scheme.toLowerCase() !== 'basic') return [];
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? [] : [text.slice(colon + 1)];
}

/** Of an address such as `postgres://user:password@host/db`. */
function passwordIn(value: string): string | undefined {
  if (!value.includes('://') || !URL.canParse(value)) return undefined;
  const { password } = new URL(value);
  if (password === '') return undefined;
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

function linesOf(value: string): readonly string[] {
  if (!value.includes('\n')) return [];
  return value.split(/\r?\n/).filter((line) => line.length >= LONG_LINE && !line.startsWith('-----'));
}
