import { describe, expect, it } from 'vitest';
import { OAuthRefusal, OAuthUnavailable } from '../../../src/credential/authorization-server.ts';
import { readLifetime, readTokenAnswer } from '../../../src/upstream/oauth/token-answer.ts';

const NOW = 1_700_000_000_000;
const answer = (body: unknown, status = 200, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers(headers),
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const read = (body: unknown, status?: number, headers?: Record<string, string>) =>
  readTokenAnswer(answer(body, status, headers), NOW, false);
function failure(body: unknown, status?: number, headers?: Record<string, string>): unknown {
  try {
    return { answered: read(body, status, headers) };
  } catch (error) {
    return error;
  }
}

const BEARER = { access_token: 'a', token_type: 'bearer' };

describe('a good answer', () => {
  it('is cut to what is used of it', () => {
    expect(
      read({
        access_token: 'a',
        token_type: 'Bearer',
        expires_in: 3600,
        refresh_token: 'r',
        scope: 'x y',
        id_token: 'not.a.token',
        expires_at: 99,
        ext_expires_in: 99,
        __proto__: { polluted: true },
      }),
    ).toEqual({ access_token: 'a', token_type: 'bearer', expires_in: 3600, refresh_token: 'r', scope: 'x y' });
  });

  it('keeps the ID token only where a person is proved by it (T6)', () => {
    const both = { access_token: 'a', id_token: 'h.p.s' };
    expect(read(both)).toEqual(BEARER);
    expect(readTokenAnswer(answer(both), NOW, true)).toEqual({ ...BEARER, id_token: 'h.p.s' });
  });

  it.each([
    ['JSON without a type', '{"access_token":"a"}'],
    ['JSON with blanks around', '\n {"access_token":"a"}\n'],
    ['a form', 'access_token=a&token_type=bearer'],
    ['a form with a line end', 'token_type=bearer&access_token=a\n'],
  ])('may be %s', (_what, body) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/html', undefined])
      expect(read(body, 200, type === undefined ? {} : { 'content-type': type })).toEqual(BEARER);
  });

  it.each(['Bearer', 'BEARER', 'user', 'bot', 'N_A', '', null, undefined])('may call its token %j (B204)', (type) => {
    expect(read({ access_token: 'a', token_type: type })).toEqual(BEARER);
  });

  it.each(['DPoP', 'mac', 'pop'])('with a token of kind %j is not used (RFC 6749 §7.1)', (type) => {
    expect(failure({ access_token: 'a', token_type: type })).toMatchObject({ code: 'invalid_answer' });
  });

  it('without a refresh token leaves the old one, however it leaves it out (B190)', () => {
    for (const token of [undefined, null, '', 7])
      expect(read({ access_token: 'a', refresh_token: token })).toEqual(BEARER);
  });

  it('without scopes leaves the old ones (B190)', () => {
    for (const scope of [undefined, null, '', ' ', [], 7]) expect(read({ access_token: 'a', scope })).toEqual(BEARER);
  });

  it.each([
    ['blanks', 'a  b'],
    ['commas', 'a,b'],
    ['a list', ['a', 'b', 7]],
  ])('may give its scopes with %s between', (_what, scope) => {
    expect(read({ access_token: 'a', scope }).scope?.split(/\s+/)).toEqual(['a', 'b']);
  });

  it('with a token inside another object means the outer one (B204, B205)', () => {
    const nested = { ok: true, access_token: 'outer', authed_user: { access_token: 'inner', scope: 'x' } };
    expect(read(nested)).toEqual({ access_token: 'outer', token_type: 'bearer' });
    expect(failure({ ok: true, authed_user: { access_token: 'inner' } })).toMatchObject({ code: 'invalid_answer' });
  });
});

describe('a lifetime', () => {
  it.each([
    [0, 0],
    ['0', 0],
    ['3600', 3600],
    [' 3600 ', 3600],
    [3600.7, 3600],
    ['3600.7', 3600],
    [-1, 0],
    ['-1', 0],
    [1e12, 31_536_000],
    ['1000000000000', 31_536_000],
  ])('of %j is %j seconds (B193)', (said, seconds) => {
    expect(readLifetime(said)).toBe(seconds);
  });

  it.each(['3600abc', '', ' ', 'NaN', '0x10', '1e3', true, null, undefined, NaN, Infinity, [], {}, ['3600']])(
    'of %j is unknown (B192, B193)',
    (said) => {
      expect(readLifetime(said)).toBeUndefined();
    },
  );
});

describe('an error', () => {
  it.each<[unknown, string]>([
    [{ error: 'bad_verification_code', error_description: 'no' }, 'bad_verification_code'],
    [{ error: 'bad_refresh_token', access_token: 'old' }, 'bad_refresh_token'],
    [{ ok: false, error: 'invalid_code' }, 'invalid_code'],
    [{ ok: false, access_token: 'old' }, 'unknown_error'],
    [{ error: { code: 190 }, access_token: 'old' }, 'unknown_error'],
    [{ token_type: 'bearer' }, 'invalid_answer'],
    [{ access_token: '' }, 'invalid_answer'],
    [{ access_token: 7 }, 'invalid_answer'],
    [{ access_token: ' a' }, 'invalid_answer'],
    [{ access_token: 'a ' }, 'invalid_answer'],
    ['', 'invalid_answer'],
    ['error=bad_verification_code&error_description=no', 'bad_verification_code'],
  ])('with status 200 is an error: %j → %s (B202, B204)', (body, code) => {
    const error = failure(body);
    expect(error).toBeInstanceOf(OAuthRefusal);
    expect(error).toMatchObject({ code });
  });

  it('is not made of a word that says nothing', () => {
    for (const error of [null, '', false, undefined]) expect(read({ access_token: 'a', error })).toEqual(BEARER);
  });

  it('of status 204 is one too (B202)', () => {
    expect(failure('', 204)).toMatchObject({ name: 'OAuthRefusal', code: 'invalid_answer' });
  });

  it.each([
    [400, 'invalid_grant'],
    [400, 'invalid_request'],
    [401, 'invalid_client'],
    [401, 'invalid_token'],
    [403, 'access_denied'],
  ])('of status %i keeps the word %s, so that only invalid_grant is that (B197)', (status, code) => {
    expect(failure({ error: code }, status)).toMatchObject({ name: 'OAuthRefusal', code });
    expect(failure({ error: code }, status, { 'www-authenticate': 'Basic realm="x"' })).toMatchObject({ code });
  });

  it('keeps nothing but one short word', () => {
    for (const word of ['x'.repeat(65), 'naïve', 'line\nbreak', '\u0000'])
      expect(failure({ error: word }, 400)).toMatchObject({ code: 'unknown_error' });
  });
});

describe('no answer', () => {
  it.each<[string, unknown, number]>([
    ['503', '', 503],
    ['503 with an error inside', { error: 'invalid_grant' }, 503],
    ['500 with an error inside', { error: 'invalid_grant' }, 500],
    ['200 HTML', '<html>access_token=1</html>', 200],
    ['200 JSON text', '"access_token"', 200],
    ['200 a cut-off text', '{"access_token":"a', 200],
    ['400 without JSON', 'Bad Request', 400],
    ['400 HTML', '<html>error=invalid_grant</html>', 400],
    ['400 JSON that names no error', { message: 'invalid_grant' }, 400],
    ['404 with an error inside', { error: 'invalid_grant' }, 404],
    ['a redirect', '', 302],
    ['429 with an error inside', { error: 'invalid_grant' }, 429],
  ])('says nothing about the grant: %s (B195)', (_what, body, status) => {
    expect(failure(body, status)).toBeInstanceOf(OAuthUnavailable);
  });

  it('may say when to come again (B195)', () => {
    expect(failure('', 429, { 'retry-after': '7' })).toMatchObject({ retryAfterMs: 7_000 });
    expect(failure('', 503, { 'retry-after': new Date(NOW + 9_000).toUTCString() })).toMatchObject({
      retryAfterMs: 9_000,
    });
    expect(failure('', 503)).toMatchObject({ retryAfterMs: undefined });
  });
});
