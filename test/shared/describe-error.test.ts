// What of an error may stand in a log line.
import { spawn } from 'node:child_process';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { OwnError, ProxyError, SignInRequiredError } from '../../src/shared/errors.ts';
import { createLogger, describeError } from '../../src/shared/logger.ts';
import { paramHeaderValues } from '../../src/wire/param-headers.ts';

const LINK = 'https://proxy.example/connect/kJd0-a_ticket';
const signIn = new SignInRequiredError('linear', LINK, 0);

const CANARY = 'canary-5b1e-secret';

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('It did not fail');
}

function forge(message: string): never {
  throw new TypeError(message);
}

describe('a log line about an error', () => {
  it.each([
    ['itself', signIn],
    ['as a cause', new ProxyError('internal', 'It went wrong.', { cause: new OwnError('wrapped', { cause: signIn }) })],
  ])('T23: never holds a sign-in link, %s', (_, error) => {
    let written = '';
    createLogger('info', { write: (line) => void (written += line) }).warn({ error: describeError(error) }, 'failed');
    expect(written).toContain('"code":"sign_in_required"');
    expect(written).toContain('linear');
    expect(written).not.toContain('connect/');
  });

  it('names class, code and message of it and of its causes, where the words are ours', () => {
    const error = new ProxyError('upstream_unavailable', 'It is down.', { cause: new OwnError('deep') });
    expect(describeError(error)).toEqual({
      kind: 'ProxyError',
      code: 'upstream_unavailable',
      message: 'It is down.',
      cause: { kind: 'Error', message: 'deep' },
    });
  });

  it('says of others their class, code and place, which is enough to find them', () => {
    const error = describeError(thrownBy(() => JSON.parse(CANARY)));
    expect(error).toEqual({ kind: 'SyntaxError' });
    expect(describeError(thrownBy(() => paramHeaderValues([{ header: 'x', path: null as never }], {})))).toEqual({
      kind: 'TypeError',
      at: expect.stringMatching(/^src\/wire\/param-headers\.ts:\d+$/),
    });
    const refused = Object.assign(new Error(CANARY), { code: 'ECONNREFUSED', syscall: 'connect' });
    expect(describeError(refused)).toEqual({ kind: 'Error', code: 'ECONNREFUSED', syscall: 'connect' });
  });

  it('goes round in no circle, and names all of several', () => {
    const error = new OwnError('first');
    error.cause = error;
    expect(JSON.stringify(describeError(error)).length).toBeLessThan(1_000);
    const several = new AggregateError([new OwnError('one'), new Error(CANARY)], 'some parts');
    expect(describeError(several)).toEqual({
      kind: 'AggregateError',
      errors: [{ kind: 'Error', message: 'one' }, { kind: 'Error' }],
    });
  });
});

describe('what libraries quote in their errors', () => {
  it.each<readonly [string, () => unknown]>([
    ['a header', () => new Headers({ authorization: `${CANARY}\nx` })],
    ['a header of a request', () => new Request('http://a.test', { headers: { 'x-a': `${CANARY}\nx` } })],
    ['an address', () => new URL(`http://user:${CANARY}@:a/`)],
    ['an address that has a user', () => new Request(`http://user:${CANARY}@a.test/`)],
    ['a piece of JSON', () => JSON.parse(`{"t":${CANARY}}`)],
    ['a variable with a NUL', () => spawn('true', { env: { TOKEN: `${CANARY}\u0000` } })],
    ['a name of an encoding', () => Buffer.from('', CANARY as never)],
    ['a buffer', () => Buffer.alloc(CANARY as never)],
    ['a place that is none', () => forge(`x\n    at f (/app/src/${CANARY}.ts:1:1)`)],
  ])('%s is not in the log', (_, work) => {
    const error = thrownBy(work);
    expect(inspect(error), 'the library did quote it').toContain('canary');
    let written = '';
    const logger = createLogger('trace', { write: (line) => void (written += line) });
    logger.error({ error: describeError(error) }, 'failed');
    logger.error({ error: describeError(new ProxyError('internal', 'No.', { cause: error })) }, 'failed');
    expect(written).toContain('"kind":"');
    expect(written).not.toContain('canary');
  });
});
