// Tokens of every kind that may come: those that are good, and those that are not, each forged as its name says.
import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { EncryptJWT, FlattenedSign, importJWK, type JWK, SignJWT } from 'jose';
import { expect } from 'vitest';
import { AUDIENCE, createSigner, ISSUER, type Signer, sign, type World } from './support.ts';

interface Signers {
  /** Whose key is registered. */
  readonly good: Signer;
  /** Another key of the same id. */
  readonly stranger: Signer;
  readonly rsa: Signer;
}

const made: Partial<{ -readonly [Name in keyof Signers]: Signer }> = {};

/** Once, before anything here is asked for. */
export async function makeSigners(): Promise<Signers> {
  const [good, stranger, rsa] = await Promise.all([
    createSigner('k1'),
    createSigner('k1'),
    createSigner('k1', 'RS256'),
  ]);
  return Object.assign(made, { good, stranger, rsa });
}

const signers: Signers = {
  get good() {
    return known(made.good);
  },
  get stranger() {
    return known(made.stranger);
  },
  get rsa() {
    return known(made.rsa);
  },
};

function known(signer: Signer | undefined): Signer {
  if (signer === undefined) throw new Error('The signers were not made yet');
  return signer;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function hmac(world: World, secret: string): Promise<string> {
  return new SignJWT(world.claims()).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(Buffer.from(secret));
}

async function signText(header: string, payload: string): Promise<string> {
  const head = `${Buffer.from(header).toString('base64url')}.${Buffer.from(payload).toString('base64url')}`;
  const key = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, signers.good.privateKey, Buffer.from(head));
  return `${head}.${Buffer.from(key).toString('base64url')}`;
}

const HEADER = '{"alg":"ES256","kid":"k1"}';

/** Truly signed, as each of these is. */
const twice = (world: World, member: string): Promise<string> =>
  signText(HEADER, JSON.stringify(world.claims()).replace(/\}$/, `,${member}}`));

const algTwice = (world: World): Promise<string> =>
  signText('{"alg":"none","alg":"ES256","kid":"k1"}', JSON.stringify(world.claims()));

const nested = (token: string): Promise<string> => signText('{"alg":"ES256","kid":"k1","cty":"JWT"}', `"${token}"`);

async function unencoded(world: World): Promise<string> {
  const payload = new TextEncoder().encode(JSON.stringify(world.claims()));
  const signed = await new FlattenedSign(payload)
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', b64: false, crit: ['b64'] })
    .sign(signers.good.privateKey);
  return `${signed.protected}.${Buffer.from(payload).toString('base64url')}.${signed.signature}`;
}

const encodedInCrit = (world: World): Promise<string> =>
  signText('{"alg":"ES256","kid":"k1","b64":false,"crit":["b64"]}', JSON.stringify(world.claims()));

async function encrypted(world: World): Promise<string> {
  const key = await importJWK({ ...signers.good.jwk, use: 'enc' }, 'ECDH-ES');
  return new EncryptJWT(world.claims()).setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1' }).encrypt(key);
}

const plainBase64 = (token: string): string => {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const again = Buffer.from(payload, 'base64url').toString('base64');
  if (again === payload) throw new Error('the two forms are one for this payload');
  return `${header}.${again}.${signature}`;
};

/** The same bytes for whoever decodes leniently. */
const withLooseBits = (token: string): string => {
  const last = token.at(-1) ?? '';
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const changed = token.slice(0, -1) + letters.charAt(letters.indexOf(last) ^ 1);
  expect(Buffer.from(changed.split('.')[2] ?? '', 'base64url')).toEqual(
    Buffer.from(token.split('.')[2] ?? '', 'base64url'),
  );
  return changed;
};

/** The library makes no such signature any more, so it is made by hand. */
export function es256k(world: World): { readonly token: string; readonly jwk: JWK } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const text = `${encode({ alg: 'ES256K', kid: 'k1' })}.${encode(world.claims())}`;
  const signature = signBytes('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const jwk = { ...(publicKey.export({ format: 'jwk' }) as JWK), kid: 'k1', alg: 'ES256K', use: 'sig' };
  return { token: `${text}.${signature.toString('base64url')}`, jwk };
}

export type Token = (world: World) => Promise<string> | string;

export const GOOD: Record<string, Token> = {
  'of the plain form': (world) => sign(signers.good, world.claims()),
  'of type at+jwt': (world) => sign(signers.good, world.claims(), { typ: 'at+jwt' }),
  'of type application/at+jwt': (world) => sign(signers.good, world.claims(), { typ: 'application/AT+JWT' }),
  'of type JWT': (world) => sign(signers.good, world.claims(), { typ: 'JWT' }),
  'with a list of audiences': (world) => sign(signers.good, world.claims({ aud: ['https://other.test', AUDIENCE] })),
  'with a slash after the audience': (world) => sign(signers.good, world.claims({ aud: `${AUDIENCE}/` })),
  'made for our endpoint': (world) => sign(signers.good, world.claims({ aud: `${AUDIENCE}/mcp` })),
  'that ended within the tolerance': (world) => sign(signers.good, world.claims({ exp: world.now - 29 })),
  'that begins within the tolerance': (world) => sign(signers.good, world.claims({ nbf: world.now + 30 })),
  'that a provider calls an access token in its claims': (world) =>
    sign(signers.good, world.claims({ typ: 'Bearer', token_use: 'access', nonce: 'n', azp: 'app' })),
  'with a long claim beside the others': (world) => sign(signers.good, world.claims({ x: 'x'.repeat(255) })),
  'with one name at two depths': (world) =>
    sign(signers.good, world.claims({ act: { sub: 'svc' }, list: [{ a: 1 }, { a: 2 }] })),
  'without a key id while one key fits': (world) => sign({ ...signers.good, jwk: {} }, world.claims()),
};

export const BAD: Record<string, Token> = {
  'with alg none': (world) => `${encode({ alg: 'none' })}.${encode(world.claims())}.`,
  'with alg none and some signature': (world) => `${encode({ alg: 'none' })}.${encode(world.claims())}.AAAA`,
  'signed by HS256 with the public key as secret': (world) => hmac(world, JSON.stringify(signers.good.jwk)),
  'signed by HS256 with the coordinate as secret': (world) => hmac(world, String(signers.good.jwk.x)),
  'signed by another key of the same id': (world) => sign(signers.stranger, world.claims()),
  'that brings its own key along': (world) => sign(signers.stranger, world.claims(), { jwk: signers.stranger.jwk }),
  'that names its own key address': (world) =>
    sign(signers.stranger, world.claims(), { jku: 'https://evil.test/keys' }),
  'that names its own certificate address': (world) =>
    sign(signers.stranger, world.claims(), { x5u: 'https://evil.test/cert', x5t: 'AAAA' }),
  'that brings a certificate along': (world) => sign(signers.stranger, world.claims(), { x5c: ['MIIB'] }),
  'whose payload is not encoded (b64)': (world) => unencoded(world),
  'that says its payload is encoded, in crit': (world) => encodedInCrit(world),
  'that is encrypted to our public key': (world) => encrypted(world),
  'around another token': async (world) => nested(await sign(signers.good, world.claims())),
  'signed by ES256K': (world) => es256k(world).token,
  'signed by RS256 with a key for ES256': (world) => sign({ ...signers.rsa, jwk: { kid: 'k1' } }, world.claims()),
  'of 8 KiB and more': (world) => sign(signers.good, world.claims({ x: 'x'.repeat(8 * 1024) })),
  'with padding': async (world) => (await sign(signers.good, world.claims())).replace(/\./g, '=.'),
  'in plain Base64': async (world) => plainBase64(await sign(signers.good, world.claims({ x: '~~~???>>>' }))),
  'with bits left over in its signature': async (world) => withLooseBits(await sign(signers.good, world.claims())),
  'with a byte behind it': async (world) => `${await sign(signers.good, world.claims())}A`,
  'with a point behind it': async (world) => `${await sign(signers.good, world.claims())}.`,
  'with a blank behind it': async (world) => `${await sign(signers.good, world.claims())} x`,
  'with a comma and another': async (world) =>
    `${await sign(signers.good, world.claims())},${await sign(signers.good, world.claims())}`,
  'with sub twice': (world) => twice(world, '"sub":"ann"'),
  'with sub twice, once in escapes': (world) => twice(world, '"s\\u0075b":"bob"'),
  'with exp twice': (world) => twice(world, `"exp":${world.now + 9}`),
  'with aud twice': (world) => twice(world, `"aud":"https://other.test"`),
  'with alg twice': (world) => algTwice(world),
  'that is an ID token by its hashes': (world) => sign(signers.good, world.claims({ at_hash: 'x', nonce: 'n' })),
  'that is an ID token of a hybrid flow': (world) => sign(signers.good, world.claims({ c_hash: 'x' })),
  'that is an ID token as Keycloak says it': (world) => sign(signers.good, world.claims({ typ: 'ID' })),
  'that is a refresh token as Keycloak says it': (world) => sign(signers.good, world.claims({ typ: 'Refresh' })),
  'that is an ID token as Cognito says it': (world) => sign(signers.good, world.claims({ token_use: 'id' })),
  'that is a logout token': (world) => sign(signers.good, world.claims({ events: {} })),
  'of an unknown key id': (world) => sign(signers.good, world.claims(), { kid: 'k2' }),
  'that has expired': (world) => sign(signers.good, world.claims({ exp: world.now - 30 })),
  'without exp': (world) => sign(signers.good, world.claims({ exp: undefined })),
  'with exp as text': (world) => sign(signers.good, world.claims({ exp: String(world.now + 100) })),
  'with exp in milliseconds': (world) => sign(signers.good, world.claims({ exp: (world.now + 100) * 1000 })),
  'without iat': (world) => sign(signers.good, world.claims({ iat: undefined })),
  'with iat in the future': (world) => sign(signers.good, world.claims({ iat: world.now + 31 })),
  'older than a day': (world) =>
    sign(signers.good, world.claims({ iat: world.now - 86_400 - 31, exp: world.now + 100 })),
  'not yet valid': (world) => sign(signers.good, world.claims({ nbf: world.now + 31 })),
  'with nbf as text': (world) => sign(signers.good, world.claims({ nbf: 'now' })),
  'without audience': (world) => sign(signers.good, world.claims({ aud: undefined })),
  'for another service': (world) => sign(signers.good, world.claims({ aud: 'https://other.test' })),
  'for another service on our host': (world) => sign(signers.good, world.claims({ aud: `${AUDIENCE}/billing` })),
  'for another tenant’s endpoint': (world) => sign(signers.good, world.claims({ aud: `${AUDIENCE}/t/b/mcp` })),
  'for a list of others': (world) =>
    sign(signers.good, world.claims({ aud: ['https://other.test', 'https://px.test.evil'] })),
  'for an audience that is no text': (world) => sign(signers.good, world.claims({ aud: { 'https://px.test': 1 } })),
  'for the host alone': (world) => sign(signers.good, world.claims({ aud: 'px.test' })),
  'for an empty list of audiences': (world) => sign(signers.good, world.claims({ aud: [] })),
  'whose audience only begins like ours': (world) => sign(signers.good, world.claims({ aud: `${AUDIENCE}.evil.test` })),
  'of an unregistered issuer': (world) => sign(signers.good, world.claims({ iss: 'https://evil.test' })),
  'whose issuer has a slash more': (world) => sign(signers.good, world.claims({ iss: `${ISSUER}/` })),
  'without issuer': (world) => sign(signers.good, world.claims({ iss: undefined })),
  'with a list of issuers': (world) => sign(signers.good, world.claims({ iss: [ISSUER] })),
  'with a numeric sub': (world) => sign(signers.good, world.claims({ sub: 42 })),
  'with an empty sub': (world) => sign(signers.good, world.claims({ sub: '' })),
  'without sub': (world) => sign(signers.good, world.claims({ sub: undefined })),
  'with a sub of 256 characters': (world) => sign(signers.good, world.claims({ sub: 'x'.repeat(256) })),
  'with a control character in sub': (world) => sign(signers.good, world.claims({ sub: 'ann\u0000' })),
  'with half a character in sub': (world) => sign(signers.good, world.claims({ sub: 'ann\ud800' })),
  'with an unknown crit': (world) =>
    `${encode({ alg: 'ES256', kid: 'k1', crit: ['x'], x: 1 })}.${encode(world.claims())}.${'A'.repeat(86)}`,
  'with iat as text': (world) => sign(signers.good, world.claims({ iat: String(world.now) })),
  'with nbf in the future by a fraction more than the tolerance': (world) =>
    sign(signers.good, world.claims({ nbf: world.now + 30.5 })),
  'with a negative exp': (world) => sign(signers.good, world.claims({ exp: -1 })),
  'with exp null': (world) => sign(signers.good, world.claims({ exp: null })),
  'with a sub of blanks': (world) => sign(signers.good, world.claims({ sub: ' ' })),
  'with a list for sub': (world) => sign(signers.good, world.claims({ sub: ['ann'] })),
  'with crit empty': (world) =>
    `${encode({ alg: 'ES256', kid: 'k1', crit: [] })}.${encode(world.claims())}.${'A'.repeat(86)}`,
  'of another type': (world) => sign(signers.good, world.claims(), { typ: 'logout+jwt' }),
  'of a type that is no text': async (world) => sign(signers.good, world.claims(), JSON.parse('{"typ": 1}')),
  'whose payload is a list': () => `${encode({ alg: 'ES256' })}.${encode([])}.AAAA`,
  'whose payload is no JSON': () => `${encode({ alg: 'ES256' })}.AAAA.AAAA`,
  'of five parts': async (world) => `${await sign(signers.good, world.claims())}.AAAA.AAAA`,
  'of two parts': async (world) => (await sign(signers.good, world.claims())).split('.').slice(0, 2).join('.'),
};
