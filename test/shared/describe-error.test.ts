// What of an error may stand in a log line.
import { describe, expect, it } from 'vitest';
import { ProxyError, SignInRequiredError } from '../../src/shared/errors.ts';
import { createLogger, describeError } from '../../src/shared/logger.ts';

const LINK = 'https://proxy.example/connect/kJd0-a_ticket';
const signIn = new SignInRequiredError('linear', LINK, 0);

describe('a log line about an error', () => {
  it.each([
    ['itself', signIn],
    ['as a cause', new ProxyError('internal', 'It went wrong.', { cause: new Error('wrapped', { cause: signIn }) })],
  ])('T23: never holds a sign-in link, %s', (_, error) => {
    let written = '';
    createLogger('info', { write: (line) => void (written += line) }).warn({ error: describeError(error) }, 'failed');
    expect(written).toContain('"code":"sign_in_required"');
    expect(written).toContain('linear');
    expect(written).not.toContain('connect/');
  });

  it('names class, code and message of it and of its causes', () => {
    const error = new ProxyError('upstream_unavailable', 'It is down.', { cause: new RangeError('deep') });
    expect(describeError(error)).toEqual({
      kind: 'ProxyError',
      code: 'upstream_unavailable',
      message: 'It is down.',
      cause: { kind: 'RangeError', message: 'deep' },
    });
  });
});
